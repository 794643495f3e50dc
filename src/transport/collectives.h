// How sums of a group of ranks are made: the seam to whatever makes them.
#pragma once

#include <array>
#include <span>
#include <variant>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "transport/ordered.h"
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

}  // namespace dovetail::transport
