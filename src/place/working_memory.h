// What a task itself needs of each device's memory while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "place/step_seconds.h"
#include "plan/plan.h"

namespace dovetail::place {

/// A part of what a device holds.
struct MemoryPart {
  std::string name;  ///< "actor's optimizer", "keys and values", ...
  std::int64_t bytes = 0;
};

/// Of the device with the most, whatever else is there: training by cost::training_memory, its weights and optimizer included; scoring the
/// activations of one layer and the logits of a micro-batch in fp32, without the weights; an engine its whole share of the memory, as it
/// takes it when it starts, with its weights; one that generates with the trained weights these and the cache of its batch. REQUIRES: the
/// task is no rule, and `planned` has no fault.
std::vector<MemoryPart> working_memory(const Ground& ground, std::size_t task, const plan::TaskPlan& planned);

/// The sum of the parts.
std::int64_t bytes_of(const std::vector<MemoryPart>& parts);

/// How weights of a role are stored.
enum class Stored {
  frozen,   ///< as they are scored with
  engine,   ///< in a form of an engine's own
  trained,  ///< with their gradients and optimizer
};

/// What the device with the most holds of a role between tasks. Gradients of 0 bytes are those that the framework gives back.
struct StoredBytes {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;
};
StoredBytes stored_bytes(const Ground& ground, std::size_t role, const llm::Layout& layout, Stored stored);

}  // namespace dovetail::place
