// In which order a run reads its data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dovetail::control {

/// A permutation of [0, count) that hangs on (seed, purpose, index) alone.
std::vector<std::size_t> permutation(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index, std::size_t count);

/// An item of the data in a pass over it.
struct DataPlace {
  std::uint64_t epoch = 0;
  std::size_t index = 0;

  friend bool operator==(const DataPlace&, const DataPlace&) = default;
};

/// What iteration `iteration` (from 0) of `batch` items reads of `count`: epochs follow each other without a gap, each
/// in an order of its own where `shuffle`, so that an iteration may end one and begin the next. REQUIRES: count >= 1.
std::vector<DataPlace> places_of(std::uint64_t seed, bool shuffle, std::size_t count, std::int64_t iteration,
                                 std::int64_t batch);

/// Iterations until `epochs` passes are done: the last one may begin another.
std::int64_t iterations_of(std::int64_t epochs, std::size_t count, std::int64_t batch);

}  // namespace dovetail::control
