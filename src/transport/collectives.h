// How sums of a group of ranks are made: the seam to whatever makes them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "transport/transport.h"

namespace dovetail::transport {

/// Who sums.
enum class CollectiveKind : std::uint8_t {
  ordered,  ///< this library, in the order of ranks (ordered.h): the same sums whatever carries the messages
  native    ///< the carrier's own library, in an order of its own
};
constexpr auto names_of(CollectiveKind) {
  return std::array{base::EnumName{"ordered", CollectiveKind::ordered},
                    base::EnumName{"native", CollectiveKind::native}};
}

using Numbers = std::variant<std::span<float>, std::span<double>>;

/// What ordered.h says of the functions of these names, but that reduce_scatter may leave anything outside this rank's
/// share. One thread of a rank uses it at a time, and all ranks of a group call the same ones in one order.
class Collectives {
 public:
  virtual ~Collectives() = default;

  /// Whether numbers are in the memory of this rank's device, and not in the host's.
  virtual bool takes_device_memory() const { return false; }
  /// Makes ready for groups of ranks, each in ascending order, of which this rank is in each. Called with the same
  /// group in the same order by all of its ranks.
  virtual base::Status open(const std::vector<std::vector<int>>& groups, Deadline deadline) = 0;
  virtual base::Status reduce_scatter(const Group& group, Numbers numbers, Deadline deadline) = 0;
  virtual base::Status all_gather(const Group& group, Numbers numbers, Deadline deadline) = 0;
  virtual base::Status all_reduce(const Group& group, Numbers numbers, Deadline deadline) = 0;
  virtual base::Status broadcast(const Group& group, std::size_t root, Numbers numbers, Deadline deadline) = 0;
};

/// Those of ordered.h, by messages of a transport, which outlives it.
class OrderedCollectives final : public Collectives {
 public:
  explicit OrderedCollectives(Transport& transport) : transport_(transport) {}

  base::Status open(const std::vector<std::vector<int>>& groups, Deadline deadline) override;
  base::Status reduce_scatter(const Group& group, Numbers numbers, Deadline deadline) override;
  base::Status all_gather(const Group& group, Numbers numbers, Deadline deadline) override;
  base::Status all_reduce(const Group& group, Numbers numbers, Deadline deadline) override;
  base::Status broadcast(const Group& group, std::size_t root, Numbers numbers, Deadline deadline) override;

 private:
  Transport& transport_;
};

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

enum class CarrierKind : std::uint8_t {
  gloo,  ///< Gloo, from memory of the host to memory of the host
  nccl   ///< NCCL, from GPU to GPU, of which each rank has one
};
constexpr auto names_of(CarrierKind) {
  return std::array{base::EnumName{"gloo", CarrierKind::gloo}, base::EnumName{"nccl", CarrierKind::nccl}};
}

/// Who sums where nobody says it.
constexpr CollectiveKind usual_collectives(CarrierKind carrier) {
  return carrier == CarrierKind::nccl ? CollectiveKind::native : CollectiveKind::ordered;
}

}  // namespace dovetail::transport
