// Collectives of a group of ranks: the interface, and an implementation that uses messages. It adds in rank order, so
// its sums do not depend on when messages arrive.
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

/// One rank's share of `count` items that are split as evenly as possible: [begin, begin + size).
struct Share {
  std::size_t begin = 0;
  std::size_t size = 0;
};
/// Returns the share with index `part` of `parts` shares. If `count` is not divisible by `parts`, the first shares have
/// one item more.
Share share_of(std::size_t count, std::size_t parts, std::size_t part);

/// The ranks of a collective, in ascending order. `number` identifies the collective. No other collective on the lane
/// may use the same number if it includes two or more of these ranks.
struct CollectiveGroup {
  std::span<const int> ranks;
  std::uint32_t number = 0;
  Lane lane = Lane::reductions;
};

/// Returns the group of a collective outside a program's reductions. `number`: see control_address.
CollectiveGroup control_group(std::span<const int> ranks, std::uint32_t number);

/// Replaces this rank's share of `values` with the sum over all ranks, added in rank order. Leaves the rest unchanged.
template <class Value>
base::Status reduce_scatter(Transport& transport, const CollectiveGroup& group, std::span<Value> values,
                            Deadline deadline);

/// Replaces each share of `values` with the values of the rank that it belongs to.
template <class Value>
base::Status all_gather(Transport& transport, const CollectiveGroup& group, std::span<Value> values, Deadline deadline);

/// Replaces `values` with the sum over all ranks: a reduce_scatter followed by an all_gather.
template <class Value>
base::Status all_reduce(Transport& transport, const CollectiveGroup& group, std::span<Value> values, Deadline deadline);

/// Replaces `values` with those of the rank at index `root` of the group.
template <class Value>
base::Status broadcast(Transport& transport, const CollectiveGroup& group, std::size_t root, std::span<Value> values,
                       Deadline deadline);

extern template base::Status reduce_scatter(Transport&, const CollectiveGroup&, std::span<float>, Deadline);
extern template base::Status reduce_scatter(Transport&, const CollectiveGroup&, std::span<double>, Deadline);
extern template base::Status all_gather(Transport&, const CollectiveGroup&, std::span<float>, Deadline);
extern template base::Status all_gather(Transport&, const CollectiveGroup&, std::span<double>, Deadline);
extern template base::Status all_reduce(Transport&, const CollectiveGroup&, std::span<float>, Deadline);
extern template base::Status all_reduce(Transport&, const CollectiveGroup&, std::span<double>, Deadline);
extern template base::Status broadcast(Transport&, const CollectiveGroup&, std::size_t, std::span<float>, Deadline);
extern template base::Status broadcast(Transport&, const CollectiveGroup&, std::size_t, std::span<double>, Deadline);

/// Implementation of the collectives.
enum class CollectiveKind : std::uint8_t {
  ordered,  ///< collectives of this library, in rank order; sums do not depend on the carrier
  native    ///< collectives of the carrier's library, in an order that it chooses
};
constexpr auto names_of(CollectiveKind) {
  return std::array{base::EnumName{"ordered", CollectiveKind::ordered},
                    base::EnumName{"native", CollectiveKind::native}};
}

/// Library that carries the messages of ranks that are processes.
enum class CarrierKind : std::uint8_t {
  gloo,  ///< Gloo, between host memories
  nccl   ///< NCCL, between GPUs; each rank has one GPU
};
constexpr auto names_of(CarrierKind) {
  return std::array{base::EnumName{"gloo", CarrierKind::gloo}, base::EnumName{"nccl", CarrierKind::nccl}};
}

/// Returns the default implementation of collectives: native for NCCL, ordered for Gloo.
constexpr CollectiveKind default_collectives(CarrierKind carrier) {
  return carrier == CarrierKind::nccl ? CollectiveKind::native : CollectiveKind::ordered;
}

using Numbers = std::variant<std::span<float>, std::span<double>>;

/// The collectives above as an interface, except that reduce_scatter may overwrite values outside this rank's share.
/// One thread of a rank uses it at a time, and all ranks of a group make the same calls in the same order.
class Collectives {
 public:
  virtual ~Collectives() = default;

  /// Whether numbers are in the memory of this rank's device rather than the host's.
  virtual bool takes_device_memory() const { return false; }
  /// Prepares groups of ranks, each in ascending order and with this rank among them. All ranks of a group must open
  /// it. Ranks that share several groups must open them in the same order.
  virtual base::Status open(const std::vector<std::vector<int>>& groups, Deadline deadline) = 0;
  virtual base::Status reduce_scatter(const CollectiveGroup& group, Numbers numbers, Deadline deadline) = 0;
  virtual base::Status all_gather(const CollectiveGroup& group, Numbers numbers, Deadline deadline) = 0;
  virtual base::Status all_reduce(const CollectiveGroup& group, Numbers numbers, Deadline deadline) = 0;
  virtual base::Status broadcast(const CollectiveGroup& group, std::size_t root, Numbers numbers,
                                 Deadline deadline) = 0;
};

/// Collectives in rank order over a transport, which must outlive this object.
class OrderedCollectives final : public Collectives {
 public:
  explicit OrderedCollectives(Transport& transport) : transport_(transport) {}

  base::Status open(const std::vector<std::vector<int>>& groups, Deadline deadline) override;
  base::Status reduce_scatter(const CollectiveGroup& group, Numbers numbers, Deadline deadline) override;
  base::Status all_gather(const CollectiveGroup& group, Numbers numbers, Deadline deadline) override;
  base::Status all_reduce(const CollectiveGroup& group, Numbers numbers, Deadline deadline) override;
  base::Status broadcast(const CollectiveGroup& group, std::size_t root, Numbers numbers, Deadline deadline) override;

 private:
  Transport& transport_;
};

}  // namespace dovetail::transport
