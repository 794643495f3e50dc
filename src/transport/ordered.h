// Collectives of a group of ranks on the seam, in a fixed order of ranks: the same sums whenever messages come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transport/transport.h"

namespace dovetail::transport {

/// What of `count` things is a rank's, as near to equal parts as can be: [begin, begin + size).
struct Share {
  std::size_t begin = 0;
  std::size_t size = 0;
};
Share share_of(std::size_t count, std::size_t parts, std::size_t part);

/// A collective of ranks, in ascending order. `number` is one that no other collective of two of them has on the lane.
struct Group {
  std::span<const int> ranks;
  std::uint32_t number = 0;
  Lane lane = Lane::reductions;
};

/// A collective that is none of a program's reductions. `number`: as control_address.
Group control_group(std::span<const int> ranks, std::uint32_t number);

/// Adds the values of all ranks, in order of ranks, into this rank's share of `values`. The rest of it is left as it
/// was.
template <class Value>
base::Status reduce_scatter(Transport& transport, const Group& group, std::span<Value> values, Deadline deadline);

/// Fills `values` with each rank's share of them.
template <class Value>
base::Status all_gather(Transport& transport, const Group& group, std::span<Value> values, Deadline deadline);

/// Makes `values` the sum of those of all ranks: the one and then the other.
template <class Value>
base::Status all_reduce(Transport& transport, const Group& group, std::span<Value> values, Deadline deadline);

/// Makes `values` those of the rank at place `root` of the group.
template <class Value>
base::Status broadcast(Transport& transport, const Group& group, std::size_t root, std::span<Value> values,
                       Deadline deadline);

extern template base::Status reduce_scatter(Transport&, const Group&, std::span<float>, Deadline);
extern template base::Status reduce_scatter(Transport&, const Group&, std::span<double>, Deadline);
extern template base::Status all_gather(Transport&, const Group&, std::span<float>, Deadline);
extern template base::Status all_gather(Transport&, const Group&, std::span<double>, Deadline);
extern template base::Status all_reduce(Transport&, const Group&, std::span<float>, Deadline);
extern template base::Status all_reduce(Transport&, const Group&, std::span<double>, Deadline);
extern template base::Status broadcast(Transport&, const Group&, std::size_t, std::span<float>, Deadline);
extern template base::Status broadcast(Transport&, const Group&, std::size_t, std::span<double>, Deadline);

}  // namespace dovetail::transport
