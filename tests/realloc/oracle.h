// The contents of every device, element by element, derived from ranks and slices only. Uses nothing of src/realloc
// except Side.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "realloc/plan.h"
#include "realloc/side.h"

namespace dovetail::realloc::test {

/// [tensor][element, row by row] its value on a device; `nowhere` if the device does not have it.
using Weights = std::map<std::string, std::vector<std::int64_t>>;
inline constexpr std::int64_t nowhere = -1;

/// [device] the contents of the side's devices. The value of each element is its position in the model. A tied head has
/// the name of the embedding.
std::vector<Weights> held_by(const Side& side, int devices);

/// The same without tensors that the other side's model lacks: its head.
std::vector<Weights> held_in_common(const Side& side, const Side& other, int devices);

/// Runs the transfers one after the other. Returns the first fault: a sender that lacks its data, or a receiver that
/// already has it. Empty if there is no fault.
std::string apply(const std::vector<Transfer>& transfers, const llm::Transformer& model, std::vector<Weights>& devices);

/// Whether each device has everything in `wanted`, with the same values.
bool has_all(const std::vector<Weights>& devices, const std::vector<Weights>& wanted);

/// Devices that have an element and devices that need it, as bits.
struct ElementPlaces {
  std::uint64_t holders = 0;
  std::uint64_t needers = 0;

  friend auto operator<=>(const ElementPlaces&, const ElementPlaces&) = default;
};
/// The number of elements of each kind. REQUIRES: at most 64 devices.
std::map<ElementPlaces, std::int64_t> count_elements(const std::vector<Weights>& before,
                                                     const std::vector<Weights>& wanted);

}  // namespace dovetail::realloc::test
