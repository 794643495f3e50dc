// Comparison of collectives with OrderedCollectives.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <vector>

#include "transport/collectives.h"

namespace dovetail::runtime {

/// Long enough for a few processes to start on a busy machine.
inline transport::Deadline deadline_of_sums() { return transport::Clock::now() + std::chrono::seconds(60); }

/// Integers, whose sum does not depend on the order.
template <class Value>
std::vector<Value> values_of(int rank, std::size_t count) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<Value>(rank + 1) * static_cast<Value>(i % 97 + 1));
  return values;
}

/// Runs an operation with both and compares the results; for reduce_scatter, this rank's share.
template <class Value>
base::Status compare(transport::Collectives& found, transport::Collectives& ordered, int rank,
                     transport::CollectiveGroup group, std::size_t count) {
  const std::size_t parts = group.ranks.size();
  const auto own = std::find(group.ranks.begin(), group.ranks.end(), rank) - group.ranks.begin();
  const transport::Share share = transport::share_of(count, parts, static_cast<std::size_t>(own));
  const auto test = [&](auto collective, const transport::Share& compared) -> base::Status {
    std::vector<Value> own_values = values_of<Value>(rank, count);
    std::vector<Value> expected = own_values;
    DOVETAIL_CHECK(collective(found, group, std::span(own_values)));
    DOVETAIL_CHECK(collective(ordered, group, std::span(expected)));
    ++group.number;
    const auto first = static_cast<std::ptrdiff_t>(compared.begin);
    if (std::equal(own_values.begin() + first, own_values.begin() + first + static_cast<std::ptrdiff_t>(compared.size),
                   expected.begin() + first))
      return {};
    return base::Error{base::Failure::invalid, "", 0, 0, fmt::format("{} numbers of {} ranks", count, parts)};
  };
  const transport::Share all{0, count};
  DOVETAIL_CHECK(
      test([](auto& by, auto& of, auto numbers) { return by.all_reduce(of, numbers, deadline_of_sums()); }, all));
  DOVETAIL_CHECK(
      test([](auto& by, auto& of, auto numbers) { return by.reduce_scatter(of, numbers, deadline_of_sums()); }, share));
  DOVETAIL_CHECK(
      test([](auto& by, auto& of, auto numbers) { return by.all_gather(of, numbers, deadline_of_sums()); }, all));
  return test(
      [&](auto& by, auto& of, auto numbers) { return by.broadcast(of, parts - 1, numbers, deadline_of_sums()); }, all);
}

/// Tests all groups of three ranks that include this one, and this rank alone.
inline base::Status sum_like_ordered(transport::Transport& end, transport::Collectives& found) {
  const std::vector<std::vector<int>> all{{0, 1}, {0, 1, 2}, {0, 2}, {1, 2}, {end.rank()}};
  const auto has_this = [&](const std::vector<int>& ranks) {
    return std::find(ranks.begin(), ranks.end(), end.rank()) != ranks.end();
  };
  std::vector<std::vector<int>> own;
  std::copy_if(all.begin(), all.end(), std::back_inserter(own), has_this);
  DOVETAIL_CHECK(found.open(own, deadline_of_sums()));
  transport::OrderedCollectives ordered(end);
  std::uint32_t number = 0;
  for (const std::size_t count : {0U, 1U, 2U, 3U, 1000U, 100'003U})
    for (const std::vector<int>& ranks : all) {
      number += 8;
      if (!has_this(ranks)) continue;
      DOVETAIL_CHECK(compare<float>(found, ordered, end.rank(), {ranks, number}, count));
      DOVETAIL_CHECK(compare<double>(found, ordered, end.rank(), {ranks, number + 4}, count));
    }
  return {};
}

}  // namespace dovetail::runtime
