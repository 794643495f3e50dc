#include "transport/collectives.h"

#include <algorithm>

#include "base/assert.h"

namespace dovetail::transport {

using base::Status;

Status OrderedCollectives::open(const std::vector<std::vector<int>>&, Deadline) { return {}; }

Status OrderedCollectives::reduce_scatter(const CollectiveGroup& group, Numbers numbers, Deadline deadline) {
  return std::visit([&](auto values) { return transport::reduce_scatter(transport_, group, values, deadline); },
                    numbers);
}

Status OrderedCollectives::all_gather(const CollectiveGroup& group, Numbers numbers, Deadline deadline) {
  return std::visit([&](auto values) { return transport::all_gather(transport_, group, values, deadline); }, numbers);
}

Status OrderedCollectives::all_reduce(const CollectiveGroup& group, Numbers numbers, Deadline deadline) {
  return std::visit([&](auto values) { return transport::all_reduce(transport_, group, values, deadline); }, numbers);
}

Status OrderedCollectives::broadcast(const CollectiveGroup& group, std::size_t root, Numbers numbers,
                                     Deadline deadline) {
  return std::visit([&](auto values) { return transport::broadcast(transport_, group, root, values, deadline); },
                    numbers);
}

namespace {

/// The two halves of an all_reduce, which are separate collectives.
enum class Half : std::uint32_t { scatter, gather };

Address address(int peer, const CollectiveGroup& group, Half half) {
  return {peer, group.lane, 2 * group.number + static_cast<std::uint32_t>(half)};
}

std::size_t place_of(const Transport& transport, const CollectiveGroup& group) {
  const auto found = std::find(group.ranks.begin(), group.ranks.end(), transport.rank());
  DOVETAIL_ASSERT(found != group.ranks.end());
  return static_cast<std::size_t>(found - group.ranks.begin());
}

template <class Value>
Buffer bytes_of(std::span<Value> values, const Share& share) {
  return {reinterpret_cast<std::byte*>(values.data() + share.begin), share.size * sizeof(Value), nullptr};
}

}  // namespace

Share share_of(std::size_t count, std::size_t parts, std::size_t part) {
  const std::size_t begin = count / parts * part + std::min(part, count % parts);
  return {begin, count / parts + (part < count % parts ? 1 : 0)};
}

CollectiveGroup control_group(std::span<const int> ranks, std::uint32_t number) {
  const std::uint32_t first = control_address(0, number).number;
  return {ranks, first / 2, Lane::control};
}

template <class Value>
base::Status reduce_scatter(Transport& transport, const CollectiveGroup& group, std::span<Value> values,
                            Deadline deadline) {
  const std::size_t own = place_of(transport, group);
  const std::size_t parts = group.ranks.size();
  const Share share = share_of(values.size(), parts, own);
  std::vector<std::vector<Value>> parts_of_others(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    if (part == own) continue;
    parts_of_others[part].resize(share.size);
    transport.receive(address(group.ranks[part], group, Half::scatter),
                      bytes_of(std::span(parts_of_others[part]), {0, share.size}));
    transport.send(address(group.ranks[part], group, Half::scatter),
                   bytes_of(values, share_of(values.size(), parts, part)));
  }
  const std::span<Value> own_values = values.subspan(share.begin, share.size);
  parts_of_others[own].assign(own_values.begin(), own_values.end());
  std::fill(own_values.begin(), own_values.end(), Value(0));
  for (std::size_t part = 0; part < parts; ++part) {
    if (part != own) DOVETAIL_CHECK(transport.wait(address(group.ranks[part], group, Half::scatter), deadline));
    for (std::size_t i = 0; i < share.size; ++i) own_values[i] += parts_of_others[part][i];
  }
  return transport.flush(group.lane, deadline);
}

template <class Value>
base::Status all_gather(Transport& transport, const CollectiveGroup& group, std::span<Value> values,
                        Deadline deadline) {
  const std::size_t own = place_of(transport, group);
  const std::size_t parts = group.ranks.size();
  for (std::size_t part = 0; part < parts; ++part) {
    if (part == own) continue;
    transport.receive(address(group.ranks[part], group, Half::gather),
                      bytes_of(values, share_of(values.size(), parts, part)));
    transport.send(address(group.ranks[part], group, Half::gather),
                   bytes_of(values, share_of(values.size(), parts, own)));
  }
  for (std::size_t part = 0; part < parts; ++part)
    if (part != own) DOVETAIL_CHECK(transport.wait(address(group.ranks[part], group, Half::gather), deadline));
  return transport.flush(group.lane, deadline);
}

template <class Value>
base::Status all_reduce(Transport& transport, const CollectiveGroup& group, std::span<Value> values,
                        Deadline deadline) {
  DOVETAIL_CHECK(reduce_scatter(transport, group, values, deadline));
  return all_gather(transport, group, values, deadline);
}

template <class Value>
base::Status broadcast(Transport& transport, const CollectiveGroup& group, std::size_t root, std::span<Value> values,
                       Deadline deadline) {
  const Share all{0, values.size()};
  if (place_of(transport, group) != root) {
    const Address from = address(group.ranks[root], group, Half::gather);
    transport.receive(from, bytes_of(values, all));
    return transport.wait(from, deadline);
  }
  for (std::size_t place = 0; place < group.ranks.size(); ++place)
    if (place != root) transport.send(address(group.ranks[place], group, Half::gather), bytes_of(values, all));
  return transport.flush(group.lane, deadline);
}

template base::Status reduce_scatter(Transport&, const CollectiveGroup&, std::span<float>, Deadline);
template base::Status reduce_scatter(Transport&, const CollectiveGroup&, std::span<double>, Deadline);
template base::Status all_gather(Transport&, const CollectiveGroup&, std::span<float>, Deadline);
template base::Status all_gather(Transport&, const CollectiveGroup&, std::span<double>, Deadline);
template base::Status all_reduce(Transport&, const CollectiveGroup&, std::span<float>, Deadline);
template base::Status all_reduce(Transport&, const CollectiveGroup&, std::span<double>, Deadline);
template base::Status broadcast(Transport&, const CollectiveGroup&, std::size_t, std::span<float>, Deadline);
template base::Status broadcast(Transport&, const CollectiveGroup&, std::size_t, std::span<double>, Deadline);

}  // namespace dovetail::transport
