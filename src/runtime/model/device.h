// What a rank computes on: the processor, or a GPU.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dovetail::runtime {

/// The device "cpu", or the first GPU for "cuda". An Error where libtorch or the machine has none.
base::Result<at::Device> find_device(const std::string& name);

/// Lets no operator give other numbers from run to run on a GPU. To be called before the first one.
void compute_deterministically();

/// The most bytes that tensors have had on a device since it was last asked; on the processor those of
/// process_memory().
std::int64_t take_peak_of(const at::Device& device);

}  // namespace dovetail::runtime
