// What every device holds, element by element, worked out from ranks and slices alone: nothing of src/realloc but its
// Side.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "realloc/plan.h"
#include "realloc/side.h"

namespace dovetail::realloc::test {

/// [tensor][element, row by row] what it is worth on a device; nowhere where the device does not have it.
using Weights = std::map<std::string, std::vector<std::int64_t>>;
inline constexpr std::int64_t nowhere = -1;

/// [device] what the side's devices hold, each element being worth its own place in the model. A tied head is named as
/// the embedding.
std::vector<Weights> held_by(const Side& side, int devices);

/// The same without tensors that the other side's model does not have: its head.
std::vector<Weights> held_in_common(const Side& side, const Side& other, int devices);

/// Moves what the transfers say, one after the other. Says what is wrong: a sender that lacks what it sends, a receiver
/// that has it already; empty where all is well.
std::string apply(const std::vector<Transfer>& transfers, const llm::Transformer& model, std::vector<Weights>& devices);

/// Whether each device has all that is in `wanted`, with the same worth.
bool has_all(const std::vector<Weights>& devices, const std::vector<Weights>& wanted);

/// For each element that some device shall have: which devices have it and which shall, as bits.
struct ElementPlaces {
  std::uint64_t holders = 0;
  std::uint64_t needers = 0;

  friend auto operator<=>(const ElementPlaces&, const ElementPlaces&) = default;
};
/// How many elements there are of each kind. REQUIRES: at most 64 devices.
std::map<ElementPlaces, std::int64_t> count_elements(const std::vector<Weights>& before,
                                                     const std::vector<Weights>& wanted);

}  // namespace dovetail::realloc::test
