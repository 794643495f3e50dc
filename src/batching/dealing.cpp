#include "batching/dealing.h"

#include <algorithm>
#include <unordered_map>

#include "base/assert.h"
#include "batching/balanced.h"
#include "batching/micro_batches.h"

namespace dovetail::batching {
namespace {

Assignment runs_of(std::size_t count, std::size_t parts) {
  Assignment dealt(parts);
  std::size_t next = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t size = count / parts + (part < count % parts ? 1 : 0);
    for (std::size_t index = 0; index < size; ++index) dealt[part].push_back(next++);
  }
  return dealt;
}

/// Samples that stay together: those of a group, or where these are fewer than the instances, each by itself.
Assignment bundles_of(const std::vector<std::int64_t>& groups, std::size_t instances) {
  Assignment bundles;
  std::unordered_map<std::int64_t, std::size_t> bundle_of;
  for (std::size_t sample = 0; sample < groups.size(); ++sample) {
    const auto [place, is_new] = bundle_of.try_emplace(groups[sample], bundles.size());
    if (is_new) bundles.emplace_back();
    bundles[place->second].push_back(sample);
  }
  return bundles.size() >= instances ? bundles : by_count(groups.size(), 1);
}

}  // namespace

Assignment deal_to_ranks(const std::vector<std::int64_t>& lengths, std::size_t ranks, Dealing dealing) {
  DOVETAIL_ASSERT(ranks >= 1);
  return dealing == Dealing::balanced ? balanced(lengths, ranks, PartSizes::equal) : runs_of(lengths.size(), ranks);
}

Assignment deal_in_turn(std::size_t count, std::size_t parts) {
  DOVETAIL_ASSERT(parts >= 1);
  Assignment dealt(parts);
  for (std::size_t index = 0; index < count; ++index) dealt[index % parts].push_back(index);
  return dealt;
}

Assignment deal_to_instances(const std::vector<std::int64_t>& groups, const std::vector<std::int64_t>& loads,
                             std::size_t instances) {
  DOVETAIL_ASSERT(instances >= 1 && (loads.empty() || loads.size() == groups.size()));
  Assignment dealt(instances);
  std::vector<std::int64_t> so_far(instances, 0);
  std::size_t turn = 0;
  for (const std::vector<std::size_t>& bundle : bundles_of(groups, instances)) {
    if (!loads.empty())
      turn = static_cast<std::size_t>(std::min_element(so_far.begin(), so_far.end()) - so_far.begin());
    for (const std::size_t sample : bundle) {
      dealt[turn].push_back(sample);
      if (!loads.empty()) so_far[turn] += loads[sample];
    }
    turn = (turn + 1) % instances;
  }
  return dealt;
}

}  // namespace dovetail::batching
