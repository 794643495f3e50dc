// The states from which the exact search found no way on, so that it does not try them, or worse ones, again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dovetail::fuse {

/// A set of failed states. A state is a key (how many ops of each class have started) and values (the time that is left
/// at each place, the memory that is allowed): with larger values more is possible. States are compared in full, by key
/// and by value; a hash only says where to look.
class FailedStates {
 public:
  /// Keys have that many numbers. No more is stored once the states take `memory_bytes`.
  FailedStates(std::size_t key_size, std::size_t memory_bytes);

  /// Whether a state of that key failed with values that are all at least these. REQUIRES: all of one key have equally
  /// many values.
  bool covers(std::span<const std::uint16_t> key, std::span<const std::int64_t> values);

  /// Stores a state, and forgets those that it covers. REQUIRES: !covers(key, values).
  void insert(std::span<const std::uint16_t> key, std::span<const std::int64_t> values);

  std::size_t size() const { return states_; }

 private:
  /// The states of one key, side by side.
  struct Bucket {
    std::size_t states = 0;
    std::size_t capacity = 0;  ///< in states
    std::size_t begin = 0;     ///< into values_
  };

  std::size_t find_slot(std::span<const std::uint16_t> key) const;
  void grow_slots();
  bool make_room(Bucket& bucket, std::size_t size);

  std::size_t key_size_;
  std::size_t memory_bytes_;
  std::size_t states_ = 0;
  bool full_ = false;
  std::vector<std::uint32_t> slots_;  // bucket + 1, or 0: open addressing
  std::vector<std::uint16_t> keys_;   // [bucket * key_size]
  std::vector<Bucket> buckets_;
  std::vector<std::int64_t> values_;
  std::vector<std::vector<std::size_t>>
      free_blocks_;  // [log2 of the size] begins of blocks of values_ that no bucket uses
};

}  // namespace dovetail::fuse
