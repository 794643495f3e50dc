#include "batching/distribution.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "batching/micro_batches.h"

namespace dovetail::batching {

namespace {

constexpr std::size_t no_rank = static_cast<std::size_t>(-1);

/// Sequences of one part in one draft, as a chain through `next_`. Sequences are identified by their rank in length.
struct DraftBin {
  std::int64_t tokens = 0;
  std::size_t min_rank = no_rank;  // rank of the longest sequence
  std::size_t first = no_rank;     // start of the chain
  std::size_t last = no_rank;
};

bool is_larger(const DraftBin& a, const DraftBin& b) {
  return a.tokens != b.tokens ? a.tokens > b.tokens : a.min_rank < b.min_rank;
}

/// A draft's nonempty parts, largest first.
struct Draft {
  std::vector<DraftBin> parts;
  std::int64_t difference = 0;
  std::size_t min_rank = no_rank;
};

/// Returns whether b is merged before a.
bool comes_later(const Draft& a, const Draft& b) {
  if (a.difference != b.difference) return a.difference < b.difference;
  const std::int64_t max_a = a.parts.front().tokens;
  const std::int64_t max_b = b.parts.front().tokens;
  return max_a != max_b ? max_a < max_b : a.min_rank > b.min_rank;
}

class Differencing {
 public:
  Differencing(const std::vector<std::int64_t>& lengths, std::size_t parts)
      : lengths_(lengths), ids_(by_decreasing_length(lengths)), next_(lengths.size(), no_rank), parts_(parts) {}

  Assignment distribute(SequenceCounts counts) {
    const std::size_t each = counts == SequenceCounts::equal ? parts_ : 1;
    for (std::size_t begin = 0; begin < ids_.size(); begin += each)
      push(draft_of(begin, std::min(begin + each, ids_.size())));
    while (drafts_.size() > 1) {
      Draft one = pop();
      push(merged(std::move(one), pop()));
    }
    Assignment distributed(parts_);
    if (!drafts_.empty()) fill(drafts_.front(), distributed);
    return distributed;
  }

 private:
  /// Returns a draft with one sequence per part.
  Draft draft_of(std::size_t begin, std::size_t end) const {
    Draft draft;
    for (std::size_t rank = begin; rank < end; ++rank) draft.parts.push_back({lengths_[ids_[rank]], rank, rank, rank});
    return draft;
  }

  void push(Draft draft) {
    std::sort(draft.parts.begin(), draft.parts.end(), is_larger);
    const std::int64_t smallest = draft.parts.size() < parts_ ? 0 : draft.parts.back().tokens;
    draft.difference = draft.parts.front().tokens - smallest;
    draft.min_rank = no_rank;
    for (const DraftBin& part : draft.parts) draft.min_rank = std::min(draft.min_rank, part.min_rank);
    drafts_.push_back(std::move(draft));
    std::push_heap(drafts_.begin(), drafts_.end(), comes_later);
  }

  Draft pop() {
    std::pop_heap(drafts_.begin(), drafts_.end(), comes_later);
    Draft first = std::move(drafts_.back());
    drafts_.pop_back();
    return first;
  }

  /// Merges two drafts: the largest part of one with the smallest of the other, which may be empty.
  Draft merged(Draft one, const Draft& other) {
    const std::size_t filled = one.parts.size();
    for (std::size_t index = 0; index < other.parts.size(); ++index) {
      const std::size_t partner = parts_ - 1 - index;
      if (partner < filled)
        join(one.parts[partner], other.parts[index]);
      else
        one.parts.push_back(other.parts[index]);
    }
    return one;
  }

  void join(DraftBin& part, const DraftBin& other) {
    part.tokens += other.tokens;
    part.min_rank = std::min(part.min_rank, other.min_rank);
    next_[part.last] = other.first;
    part.last = other.last;
  }

  void fill(const Draft& draft, Assignment& distributed) const {
    for (std::size_t index = 0; index < draft.parts.size(); ++index) {
      for (std::size_t rank = draft.parts[index].first; rank != no_rank; rank = next_[rank])
        distributed[index].push_back(ids_[rank]);
      std::sort(distributed[index].begin(), distributed[index].end());
    }
  }

  const std::vector<std::int64_t>& lengths_;
  std::vector<std::size_t> ids_;   // [rank by length]
  std::vector<std::size_t> next_;  // [rank] next rank in its chain
  std::size_t parts_;
  std::vector<Draft> drafts_;  // a heap
};

}  // namespace

Assignment balanced(const std::vector<std::int64_t>& lengths, std::size_t parts, SequenceCounts counts) {
  DOVETAIL_ASSERT(parts >= 1);
  return Differencing(lengths, parts).distribute(counts);
}

namespace {

Assignment runs_of(std::size_t count, std::size_t parts) {
  Assignment distributed(parts);
  std::size_t next = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t size = count / parts + (part < count % parts ? 1 : 0);
    for (std::size_t index = 0; index < size; ++index) distributed[part].push_back(next++);
  }
  return distributed;
}

/// Returns the samples that stay together: those of a group, or single samples if there are fewer groups than
/// instances.
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

Assignment distribute_to_ranks(const std::vector<std::int64_t>& lengths, std::size_t ranks,
                               RankDistribution distribution) {
  DOVETAIL_ASSERT(ranks >= 1);
  return distribution == RankDistribution::balanced ? balanced(lengths, ranks, SequenceCounts::equal)
                                                    : runs_of(lengths.size(), ranks);
}

Assignment distribute_round_robin(std::size_t count, std::size_t parts) {
  DOVETAIL_ASSERT(parts >= 1);
  Assignment distributed(parts);
  for (std::size_t index = 0; index < count; ++index) distributed[index % parts].push_back(index);
  return distributed;
}

Assignment distribute_to_instances(const std::vector<std::int64_t>& groups, const std::vector<std::int64_t>& loads,
                                   std::size_t instances) {
  DOVETAIL_ASSERT(instances >= 1 && (loads.empty() || loads.size() == groups.size()));
  Assignment distributed(instances);
  std::vector<std::int64_t> so_far(instances, 0);
  std::size_t turn = 0;
  for (const std::vector<std::size_t>& bundle : bundles_of(groups, instances)) {
    if (!loads.empty())
      turn = static_cast<std::size_t>(std::min_element(so_far.begin(), so_far.end()) - so_far.begin());
    for (const std::size_t sample : bundle) {
      distributed[turn].push_back(sample);
      if (!loads.empty()) so_far[turn] += loads[sample];
    }
    turn = (turn + 1) % instances;
  }
  return distributed;
}

}  // namespace dovetail::batching
