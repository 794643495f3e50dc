// What a rank computes on: the processor, or a GPU.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace dovetail::runtime {

/// Whether this machine has a device of that name: "cpu", "cuda". An Error says why not.
base::Status check_device(const std::string& name);

/// The device "cpu", or for "cuda" the GPU of the rank `local_rank` of this host: ranks have those that they see in
/// turn. The calling thread computes on it from now on. An Error of check_device.
base::Result<at::Device> find_device(const std::string& name, int local_rank = 0);

/// Until the device has done all that it was given; on the processor all is done at once.
void wait_for_work_of(const at::Device& device);

/// Lets no operator give other numbers from run to run on a GPU. To be called before the first one.
void compute_deterministically();

/// The most bytes that tensors have had on a device since it was last asked; on the processor those of
/// process_memory().
std::int64_t take_peak_of(const at::Device& device);

}  // namespace dovetail::runtime
