// Decides whether a problem has a schedule that ends by a deadline within given caps on memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "fuse/exact/exact_model.h"
#include "fuse/exact/exact_table.h"
#include "parallel/cancellation.h"

namespace dovetail::fuse {

/// Depth first over "which op starts next", in order of time. What it learns about states that lead nowhere serves all
/// later questions with caps that are no larger, whatever their deadline. How it works, and why nothing is missed, is
/// in docs/solver.md.
class ExactSearch {
 public:
  enum class Outcome { found, none, stopped };

  /// Gives up after that many nodes in all. `model` stays with the caller.
  ExactSearch(const ExactModel& model, std::int64_t nodes, std::size_t memory_bytes,
              const parallel::Cancellation* cancellation);

  /// Called every 2^16 nodes.
  std::function<void()> on_nodes;

  /// Looks for a schedule within the caps that ends by `deadline`. `allowance` stands for the caps: of two questions
  /// the one with the larger number must have caps that are nowhere smaller.
  Outcome find(std::int64_t deadline, const CappedModel& capped, std::int64_t allowance);

  /// After `found`: the ops in the order in which they start.
  const std::vector<std::size_t>& found() const { return path_; }
  std::int64_t nodes() const { return nodes_; }

 private:
  struct Child {
    std::int64_t start = 0;
    std::size_t place = 0;    ///< place_of its class
    std::int64_t latest = 0;  ///< by when it has to start
    std::size_t own_class = 0;

    friend auto operator<=>(const Child&, const Child&) = default;
  };

  /// What is left of a class, in order.
  struct MachineRow {
    std::size_t op = 0;
    std::size_t end = 0;
    std::int64_t left = 0;  ///< of the op
    std::int64_t duration = 0;
  };

  Outcome explore(std::int64_t now, std::size_t now_place);
  bool raise_heads(std::int64_t now);
  void gather_rows(std::size_t device);
  bool fits_machine(std::size_t device);
  bool fits_memory(std::size_t device) const;
  std::size_t max_ended(std::size_t index, std::int64_t moment) const;
  std::int64_t min_held(const std::vector<std::size_t>& stage, std::int64_t moment) const;
  bool is_known_to_fail();
  std::size_t append_children(std::int64_t now, std::size_t now_place);
  void start(const Child& child);
  void take_back(const Child& child, std::int64_t was_free);
  bool has_started(std::size_t op) const;
  bool waits_for_a_start(std::size_t op) const;
  bool is_sent_to(std::size_t op) const;
  std::int64_t left(std::int64_t time) const { return deadline_ - time; }
  /// Among ops that start at one moment: those that take no time come first, as the others may wait for them on any
  /// device; then by device.
  std::size_t place_of(const ExactClass& own) const { return own.device + (own.duration > 0 ? free_.size() : 0); }
  std::size_t next_op(std::size_t index) const { return model_.classes[index].first + started_[index]; }

  const ExactModel& model_;
  const CappedModel* capped_ = nullptr;
  std::int64_t deadline_ = 0;
  std::int64_t allowance_ = 0;
  std::int64_t max_nodes_;
  std::int64_t nodes_ = 0;
  const parallel::Cancellation* cancellation_;
  FailedStates failed_;

  std::vector<std::uint16_t> started_;    // [class] how many
  std::vector<std::int64_t> end_;         // [op] when it ends, or, if it has not started, the least that this can be
  std::vector<std::int64_t> free_;        // [device] from when on
  std::vector<std::int64_t> held_;        // [device] once its last op has ended
  std::vector<std::int64_t> unacquired_;  // [device] what ops that have not started will take
  std::vector<std::size_t> path_;
  std::vector<std::int64_t> earliest_;  // [device] least head of what has not started
  std::vector<std::int64_t> values_;    // of the state that was looked up last
  std::vector<std::int64_t> states_;    // values of all nodes on the path
  std::vector<Child> children_;         // of all nodes on the path
  std::vector<MachineRow> rows_;        // of the device that was looked at last
};

}  // namespace dovetail::fuse
