// Branch and bound: decides whether a problem has a schedule that ends by a deadline within given memory caps. It
// stores failed states, so that it can skip these and worse ones later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "fuse/exact/exact_model.h"
#include "parallel/cancellation.h"

namespace dovetail::fuse {

/// A set of failed states. A state consists of a key (how many ops of each class have started) and values (the times
/// left, the memory allowed). Larger values are less restrictive. States are compared in full by key and values; a hash
/// only selects where to look.
class FailedStates {
 public:
  /// Keys have `key_size` numbers. Once the states take `memory_bytes`, no more are stored.
  FailedStates(std::size_t key_size, std::size_t memory_bytes);

  /// Whether a stored state with the same key has values that are all at least `values`. REQUIRES: all states with the
  /// same key have the same number of values.
  bool covers(std::span<const std::uint16_t> key, std::span<const std::int64_t> values);

  /// Stores a state and removes those that it covers. REQUIRES: covers(key, values) is false.
  void insert(std::span<const std::uint16_t> key, std::span<const std::int64_t> values);

  std::size_t size() const { return states_; }

 private:
  /// The states of one key, stored contiguously.
  struct Bucket {
    std::size_t states = 0;
    std::size_t capacity = 0;  ///< number of states it can store
    std::size_t begin = 0;     ///< index of its first value in values_
  };

  std::size_t find_slot(std::span<const std::uint16_t> key) const;
  void grow_slots();
  bool make_space(Bucket& bucket, std::size_t size);

  std::size_t key_size_;
  std::size_t memory_bytes_;
  std::size_t states_ = 0;
  bool full_ = false;
  std::vector<std::uint32_t> slots_;  // hash table with open addressing: index of a bucket plus 1, or 0 if empty
  std::vector<std::uint16_t> keys_;   // key of bucket b, from index b * key_size on
  std::vector<Bucket> buckets_;
  std::vector<std::int64_t> values_;
  std::vector<std::vector<std::size_t>> free_blocks_;  // [log2 of the size] start indices of unused blocks of values_
};

/// Depth-first search over which op starts next, in time order. Failed states are reused by later calls of find() with
/// equal or smaller caps, for any deadline. Method and proof of completeness are in docs/search.md.
class ExactSearch {
 public:
  /// Outcome of find().
  enum class Outcome {
    found,   ///< a schedule was found
    none,    ///< it is proven that no such schedule exists
    stopped  ///< undecided: the nodes are used up, or the search was canceled
  };

  /// Gives up after `nodes` nodes in all calls together. Failed states take at most `memory_bytes`. `model` must
  /// outlive this object.
  ExactSearch(const ExactModel& model, std::int64_t nodes, std::size_t memory_bytes,
              const parallel::Cancellation* cancellation);

  /// Called every 2^16 nodes.
  std::function<void()> on_nodes;

  /// Looks for a schedule within the caps that ends by `deadline`. `allowance` ranks the caps of different calls: with
  /// a larger allowance, no cap may be smaller.
  Outcome find(std::int64_t deadline, const CappedModel& capped, std::int64_t allowance);

  /// Returns the ops in order of their starts. REQUIRES: the last outcome was Outcome::found.
  const std::vector<std::size_t>& found() const { return path_; }
  std::int64_t nodes() const { return nodes_; }

 private:
  /// A way to continue: the next op of class `own_class` starts at `start`.
  struct Child {
    std::int64_t start = 0;
    std::size_t place = 0;    ///< place_of(class)
    std::int64_t latest = 0;  ///< latest possible start
    std::size_t own_class = 0;

    friend auto operator<=>(const Child&, const Child&) = default;
  };

  /// The remaining ops of a class: from `op` to `end` - 1.
  struct MachineRow {
    std::size_t op = 0;
    std::size_t end = 0;
    std::int64_t left = 0;      ///< remaining time of `op`
    std::int64_t duration = 0;  ///< duration of each op
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
  /// Returns the rank of an op of class `own` among ops that start at the same time. Ops of zero duration come first,
  /// because ops on any device may wait for them. The device decides ties.
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

  std::vector<std::uint16_t> started_;    // [class] number of started ops
  std::vector<std::int64_t> end_;         // [op] its end; if it has not started, its earliest possible end
  std::vector<std::int64_t> free_;        // [device] time at which it is free
  std::vector<std::int64_t> held_;        // [device] memory held after the end of its last op
  std::vector<std::int64_t> unacquired_;  // [device] memory that unstarted ops will acquire
  std::vector<std::size_t> path_;
  std::vector<std::int64_t> earliest_;  // [device] minimum head of its unstarted ops
  std::vector<std::int64_t> values_;    // values of the state that was looked up last
  std::vector<std::int64_t> states_;    // values of the states of all nodes on the path
  std::vector<Child> children_;         // children of all nodes on the path
  std::vector<MachineRow> rows_;        // rows of the device that was examined last
};

}  // namespace dovetail::fuse
