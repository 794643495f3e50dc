// Proofs that no schedule of a problem ends by a deadline within a memory limit. makespan_bound and
// peak_activation_bound (bounds.h) use them to raise the simple bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fuse/bounds/device_sequencing.h"
#include "fuse/bounds/pipeline_states.h"
#include "fuse/bounds/position_network.h"
#include "fuse/bounds/windows.h"
#include "parallel/cancellation.h"

namespace dovetail::fuse {

/// Above this many ops (pipeline::count_ops), bounds use only the heads, tails and work of ops, which is fast.
inline constexpr std::int64_t max_ops_to_refute = 200'000;
/// Above this many ops of the network, which counts I and W separately, bounds use only ProofDepth::windows.
inline constexpr std::size_t max_ops_to_sequence = 20'000;

/// Budget shared by several proofs. It limits work rather than time, so every machine finds the same proofs unless they
/// are canceled.
struct ProofBudget {
  std::int64_t work_left = 0;  ///< in examined device states, like BoundOptions::work
  const parallel::Cancellation* cancellation = nullptr;

  bool spent() const { return work_left <= 0 || (cancellation != nullptr && cancellation->requested()); }
};

/// Returns the default of BoundOptions::work. It grows with the number of ops up to a maximum that takes about a
/// second.
std::int64_t default_work(const pipeline::Problem& problem);

/// Arguments that a proof uses. Each value includes the previous ones.
enum class ProofDepth {
  windows,    ///< heads, tails, and how many micro-batches each stage alone may have in flight
  sequences,  ///< also all sequences of ops on each device, one device after another, until no window narrows
  cases,      ///< also case distinctions: an op starts in the first or in the second half of its window
};

/// Refutes combinations of a deadline and memory limits for one problem.
class Refutation {
 public:
  explicit Refutation(const pipeline::Problem& problem);

  /// Whether it is proven that no schedule ends by `deadline` and holds at most headroom[device] of activation on each
  /// device. False proves nothing. Deducts the work from `budget`.
  bool refutes(base::Ticks deadline, const std::vector<base::Memory>& headroom, ProofDepth depth, ProofBudget& budget);

  const PositionNetwork& network() const { return network_; }

 private:
  using DeviceStates = std::vector<PipelineStates>;  // states of the pipelines on a device

  /// Windows of schedules under an assumption: `op` starts at `from` or later, and ends by `until`.
  struct Case {
    Windows windows;
    std::int32_t op = 0;
    base::Ticks from;
    base::Ticks until = base::Ticks::max();
  };

  bool enumerate_states(const std::vector<base::Memory>& headroom, ProofBudget& budget);
  void sequence_devices(const std::vector<base::Memory>& headroom, WindowPropagation& propagation, ProofBudget& budget);
  void sequence_device(const DeviceStates& states, base::Memory headroom, WindowPropagation& propagation,
                       ProofBudget& budget);
  bool refutes_cases(Case given, const std::vector<base::Memory>& headroom, int depth, ProofBudget& budget);
  std::optional<std::int32_t> op_to_halve(const Windows& windows) const;

  PositionNetwork network_;
  DeviceSequencing sequencing_;
  std::vector<DeviceStates> states_;  // [device] states of its pipelines
};

}  // namespace dovetail::fuse
