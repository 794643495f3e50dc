#include "transport/collectives.h"

namespace dovetail::transport {

using base::Status;

Status OrderedCollectives::open(const std::vector<std::vector<int>>&, Deadline) { return {}; }

Status OrderedCollectives::reduce_scatter(const Group& group, Numbers numbers, Deadline deadline) {
  return std::visit([&](auto values) { return transport::reduce_scatter(transport_, group, values, deadline); },
                    numbers);
}

Status OrderedCollectives::all_gather(const Group& group, Numbers numbers, Deadline deadline) {
  return std::visit([&](auto values) { return transport::all_gather(transport_, group, values, deadline); }, numbers);
}

Status OrderedCollectives::all_reduce(const Group& group, Numbers numbers, Deadline deadline) {
  return std::visit([&](auto values) { return transport::all_reduce(transport_, group, values, deadline); }, numbers);
}

Status OrderedCollectives::broadcast(const Group& group, std::size_t root, Numbers numbers, Deadline deadline) {
  return std::visit([&](auto values) { return transport::broadcast(transport_, group, root, values, deadline); },
                    numbers);
}

}  // namespace dovetail::transport
