#include "realloc/parts.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "llm/layout.h"
#include "realloc/side.h"

namespace dovetail::realloc {
namespace {

/// What a position has of a tensor: the slice of one rank of those that the tensor is cut for, and one of the equal
/// copies of it.
struct Share {
  int rank = 0;
  int copy = 0;
};

/// How the positions of a stage share a tensor out.
struct Sharing {
  int ranks = 1;
  int copies = 1;
  std::vector<std::pair<int, Share>> shares;  ///< position and its share, of those that have any of it
};

Sharing sharing_of(const llm::Layout& layout, std::int64_t experts, const llm::Tensor& tensor) {
  const bool routed = tensor.expert >= 0;
  const int positions = positions_of(layout);
  Sharing sharing;
  sharing.ranks = routed ? layout.expert_tensor : layout.tensor;
  sharing.copies = routed ? positions / (layout.expert * layout.expert_tensor) : layout.data * layout.context;
  const std::int64_t group = routed ? tensor.expert / (experts / layout.expert) : 0;
  for (int position = 0; position < positions; ++position) {
    const llm::Coordinates place = llm::coordinates_of(layout, position);
    if (!routed) {
      sharing.shares.push_back({position, {place.tensor, place.data * layout.context + place.context}});
      continue;
    }
    const llm::ExpertPlace expert = llm::expert_place(layout, place);
    if (expert.group == group) sharing.shares.push_back({position, {expert.part, expert.replica}});
  }
  return sharing;
}

/// [rank] the first rank that has the same slice: key-value heads that are fewer than ranks, and what is whole, are
/// there several times.
std::vector<int> first_equal_ranks(const std::vector<llm::Slice>& slices) {
  std::vector<int> first;
  for (const llm::Slice& slice : slices)
    first.push_back(static_cast<int>(std::find(slices.begin(), slices.end(), slice) - slices.begin()));
  return first;
}

}  // namespace

std::size_t PositionSets::number_of(std::vector<int> positions) {
  const auto [entry, is_new] = numbers_.try_emplace(std::move(positions), sets_.size());
  if (is_new) sets_.push_back(&entry->first);
  return entry->second;
}

std::vector<llm::Slice> flat_range(const llm::Slice& slice, std::int64_t begin, std::int64_t end) {
  std::vector<llm::Slice> ranges;
  const std::int64_t width = slice.column_end - slice.column_begin;
  const auto add = [&](std::int64_t first_row, std::int64_t last_row, std::int64_t first_column,
                       std::int64_t last_column) {
    if (first_row < last_row && first_column < last_column)
      ranges.push_back({slice.row_begin + first_row, slice.row_begin + last_row, slice.column_begin + first_column,
                        slice.column_begin + last_column});
  };
  if (begin >= end) return ranges;
  const std::int64_t first = begin / width;
  const std::int64_t last = end / width;
  if (first == last) {
    add(first, first + 1, begin % width, end % width);
    return ranges;
  }
  const std::int64_t whole = begin % width == 0 ? first : first + 1;
  if (whole > first) add(first, whole, begin % width, width);
  add(whole, last, 0, width);
  add(last, last + 1, 0, end % width);
  return ranges;
}

std::vector<HeldPart> parts_of(const llm::Layout& layout, int shard_group, std::int64_t experts,
                               const llm::Tensor& tensor, PositionSets& sets) {
  const Sharing sharing = sharing_of(layout, experts, tensor);
  std::vector<llm::Slice> slices;
  for (int rank = 0; rank < sharing.ranks; ++rank) slices.push_back(llm::slice_of(tensor, sharing.ranks, rank));
  const std::vector<int> first_rank = first_equal_ranks(slices);
  const int cuts = layout.zero == 3 ? static_cast<int>(llm::shard_ranks(sharing.copies, shard_group)) : 1;
  std::vector<std::vector<int>> holders(slices.size() * static_cast<std::size_t>(cuts));
  const auto index = [cuts](int rank, int cut) { return static_cast<std::size_t>(rank * cuts + cut); };
  for (const auto& [position, share] : sharing.shares)
    holders[index(first_rank[static_cast<std::size_t>(share.rank)], share.copy % cuts)].push_back(position);
  std::vector<HeldPart> parts;
  for (int rank = 0; rank < sharing.ranks; ++rank) {
    if (first_rank[static_cast<std::size_t>(rank)] != rank) continue;
    const llm::Slice& slice = slices[static_cast<std::size_t>(rank)];
    for (int cut = 0; cut < cuts; ++cut) {
      std::vector<llm::Slice> range =
          flat_range(slice, cut * slice.elements() / cuts, (cut + 1) * slice.elements() / cuts);
      if (!range.empty()) parts.push_back({std::move(range), sets.number_of(std::move(holders[index(rank, cut)]))});
    }
  }
  return parts;
}

}  // namespace dovetail::realloc
