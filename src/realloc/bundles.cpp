#include "realloc/bundles.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "llm/layout.h"
#include "llm/tensors.h"
#include "realloc/side.h"

namespace dovetail::realloc {
namespace {

/// Sets of positions of a stage (see positions_of), ascending. Equal sets are stored once and have the same number.
class PositionSets {
 public:
  std::size_t number_of(std::vector<int> positions);
  const std::vector<int>& at(std::size_t number) const { return *sets_[number]; }

 private:
  std::map<std::vector<int>, std::size_t> numbers_;
  std::vector<const std::vector<int>*> sets_;
};

/// A part of a tensor, and the positions that hold exactly this part.
struct HeldPart {
  std::vector<llm::Slice> slices;  ///< one slice, or up to three if ZeRO 3 cuts within rows
  std::size_t holders = 0;         ///< number in the PositionSets
};

/// A position's share of a tensor: the slice of one tensor-parallel rank, and one of the equal copies of it.
struct Share {
  int rank = 0;
  int copy = 0;
};

/// How the positions of a stage share a tensor.
struct Sharing {
  int ranks = 1;
  int copies = 1;
  std::vector<std::pair<int, Share>> shares;  ///< positions that hold any of it, with their shares
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

/// Returns, for each rank, the first rank with the same slice. Slices repeat if there are fewer key-value heads than
/// ranks, or if the tensor is not split.
std::vector<int> first_equal_ranks(const std::vector<llm::Slice>& slices) {
  std::vector<int> first;
  for (const llm::Slice& slice : slices)
    first.push_back(static_cast<int>(std::find(slices.begin(), slices.end(), slice) - slices.begin()));
  return first;
}

std::size_t PositionSets::number_of(std::vector<int> positions) {
  const auto [entry, is_new] = numbers_.try_emplace(std::move(positions), sets_.size());
  if (is_new) sets_.push_back(&entry->first);
  return entry->second;
}

/// Returns the elements [begin, end) of `slice`, counted row by row, as up to three rectangles. Empty if begin == end.
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

/// Returns the parts of `tensor` on the stage that holds it. Parts are disjoint and cover the tensor. `experts`: number
/// of experts in each layer of the model, for tensors of experts. `shard_group`: see Side.
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

/// A tensor, and its index among the tensors of its layer.
struct IndexedTensor {
  llm::Tensor tensor;
  int index = 0;
};

/// Stages that hold some tensors on the source, and stages that need them on the destination.
using StagePair = std::pair<std::vector<int>, std::vector<int>>;

/// Tensors that are always on the same stages: those of one kind of layer, or one tensor outside the layers.
struct TensorGroup {
  std::vector<IndexedTensor> tensors;
  std::map<StagePair, std::vector<int>> first_tensors;  ///< [stages] first tensor of each layer with these stages
};

std::optional<llm::Slice> intersection_of(const llm::Slice& a, const llm::Slice& b) {
  const llm::Slice common{std::max(a.row_begin, b.row_begin), std::min(a.row_end, b.row_end),
                          std::max(a.column_begin, b.column_begin), std::min(a.column_end, b.column_end)};
  if (common.row_begin >= common.row_end || common.column_begin >= common.column_end) return std::nullopt;
  return common;
}

std::vector<DeviceId> devices_of(const Side& side, const std::vector<int>& stages, const std::vector<int>& positions) {
  std::vector<DeviceId> devices;
  for (const int stage : stages)
    for (const int position : positions)
      devices.emplace_back(side.mesh.first + stage * positions_of(side.layout) + position);
  return devices;
}

class Builder {
 public:
  Builder(const Side& source, const Side& destination, bool trained_only)
      : source_(source),
        destination_(destination),
        only_adapters_(trained_only && destination.model.adapter_rank > 0) {}

  Bundles build() {
    const std::vector<llm::Tensor> embedding = llm::embedding_tensors(destination_.model);
    for (std::size_t i = 0; i < embedding.size(); ++i)
      add_outer(embedding[i], static_cast<int>(i),
                i == 0 ? StagePair{embedding_stages(source_), embedding_stages(destination_)} : StagePair{{0}, {0}});
    const int after_layers = add_layers(static_cast<int>(embedding.size()));
    add_head(after_layers);
    return std::move(made_);
  }

 private:
  void add_outer(const llm::Tensor& tensor, int index, StagePair stages) {
    TensorGroup tensor_group;
    tensor_group.tensors.push_back({tensor, 0});
    tensor_group.first_tensors[std::move(stages)].push_back(index);
    add(tensor_group);
  }

  /// Returns the index of the first tensor after the layers.
  int add_layers(int index) {
    const std::vector<int> source_stages = stages_of_layers(source_);
    const std::vector<int> destination_stages = stages_of_layers(destination_);
    TensorGroup kinds[2];  // without and with experts
    int sizes[2] = {0, 0};
    for (std::int64_t layer = 0; layer < destination_.model.layers; ++layer) {
      const int kind = llm::has_experts(destination_.model, layer) ? 1 : 0;
      if (sizes[kind] == 0)
        for (llm::Tensor& tensor : llm::layer_tensors(destination_.model, layer))
          kinds[kind].tensors.push_back({std::move(tensor), sizes[kind]++});
      const auto at = static_cast<std::size_t>(layer);
      kinds[kind].first_tensors[{{source_stages[at]}, {destination_stages[at]}}].push_back(index);
      index += sizes[kind];
    }
    for (const TensorGroup& tensor_group : kinds) add(tensor_group);
    return index;
  }

  /// A head moves if both models have it. A tied head has moved with the embedding.
  void add_head(int index) {
    const std::vector<llm::Tensor> present = llm::head_tensors(source_.model);
    for (const llm::Tensor& tensor : llm::head_tensors(destination_.model)) {
      const bool is_there = std::any_of(present.begin(), present.end(),
                                        [&](const llm::Tensor& other) { return other.name == tensor.name; });
      if (is_there && !tensor.tied)
        add_outer(tensor, index, {{source_.layout.pipeline - 1}, {destination_.layout.pipeline - 1}});
      ++index;
    }
  }

  void add(const TensorGroup& tensor_group) {
    PositionSets source_sets;
    PositionSets destination_sets;
    for (auto& [sets, pattern] : patterns_of(tensor_group, source_sets, destination_sets)) {
      const std::size_t number = made_.patterns.size();
      for (const auto& [stages, first_tensors] : tensor_group.first_tensors) {
        Bundle bundle;
        bundle.holders = devices_of(source_, stages.first, source_sets.at(sets.first));
        const std::vector<DeviceId> needing = devices_of(destination_, stages.second, destination_sets.at(sets.second));
        std::set_difference(needing.begin(), needing.end(), bundle.holders.begin(), bundle.holders.end(),
                            std::back_inserter(bundle.lacking));
        if (bundle.lacking.empty()) continue;
        bundle.pattern = number;
        bundle.first_tensors = first_tensors;
        bundle.elements = pattern.elements() * static_cast<std::int64_t>(first_tensors.size());
        made_.bundles.push_back(std::move(bundle));
      }
      made_.patterns.push_back(std::move(pattern));
    }
  }

  using SetPair = std::pair<std::size_t, std::size_t>;

  /// Groups the blocks of the group's tensors by the positions that hold them and the positions that need them.
  std::map<SetPair, Pattern> patterns_of(const TensorGroup& tensor_group, PositionSets& source_sets,
                                         PositionSets& destination_sets) const {
    std::map<SetPair, Pattern> patterns;
    const std::int64_t experts = destination_.model.experts ? destination_.model.experts->count : 0;
    for (const IndexedTensor& each : tensor_group.tensors) {
      if (only_adapters_ && !each.tensor.adapter) continue;
      const std::vector<HeldPart> held =
          parts_of(source_.layout, source_.shard_group, experts, each.tensor, source_sets);
      const std::vector<HeldPart> needed =
          parts_of(destination_.layout, destination_.shard_group, experts, each.tensor, destination_sets);
      for (const HeldPart& from : held)
        for (const HeldPart& to : needed) add_common(from, to, each.index, patterns);
    }
    return patterns;
  }

  static void add_common(const HeldPart& from, const HeldPart& to, int tensor, std::map<SetPair, Pattern>& patterns) {
    for (const llm::Slice& a : from.slices)
      for (const llm::Slice& b : to.slices)
        if (const auto common = intersection_of(a, b)) {
          Pattern& pattern = patterns[{from.holders, to.holders}];
          pattern.ends.push_back((pattern.ends.empty() ? 0 : pattern.ends.back()) + common->elements());
          pattern.blocks.push_back({tensor, *common});
        }
  }

  const Side& source_;
  const Side& destination_;
  const bool only_adapters_;
  Bundles made_;
};

}  // namespace

Bundles bundles_of(const Side& source, const Side& destination, bool trained_only) {
  return Builder(source, destination, trained_only).build();
}

StreamPlace place_of(const Pattern& pattern, std::int64_t element) {
  const std::int64_t within = element % pattern.elements();
  const auto block = std::upper_bound(pattern.ends.begin(), pattern.ends.end(), within) - pattern.ends.begin();
  const std::int64_t begin = block == 0 ? 0 : pattern.ends[static_cast<std::size_t>(block - 1)];
  const llm::Slice& slice = pattern.blocks[static_cast<std::size_t>(block)].slice;
  const std::int64_t width = slice.column_end - slice.column_begin;
  const std::int64_t layer = element / pattern.elements();
  return {layer * static_cast<std::int64_t>(pattern.blocks.size()) + block, (within - begin) / width,
          (within - begin) % width};
}

std::int64_t row_start(const Pattern& pattern, std::int64_t element) {
  return element - place_of(pattern, element).column;
}

}  // namespace dovetail::realloc
