// A task that scores samples, as simulations see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/quantity.h"
#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/layout.h"
#include "plan/task_plan.h"

namespace dovetail::simulate {

/// A task that scores samples. Its facts must outlive whatever is made of it.
struct InferTask {
  const cost::ModelFacts& facts;
  /// As planned for all devices; a replica is one data-parallel rank of it, whatever their number here.
  llm::Layout layout;
  plan::MicroBatching micro_batching;
  cost::Machine machine;
  cost::Efficiency efficiency;
  base::Ticks load;                     ///< until its devices have its weights from host memory
  std::vector<std::size_t> after = {};  ///< tasks of the same list whose answers it reads, each before it
  std::int32_t task = 0;                ///< Span::task
  base::Ticks alone =
      {};  ///< inference of all samples on all devices, where nothing else is there; without load and hand-over
  std::int64_t held = 0;  ///< bytes on each device while a worker has its model
  base::Ticks hand_over =
      {};  ///< until a worker that never scored for the task is told of it and can receive its samples
  base::Ticks gathering = {};  ///< until a worker has its weights from other devices, behind `load`

  int replica_devices() const { return layout.devices() / layout.data; }
};

}  // namespace dovetail::simulate
