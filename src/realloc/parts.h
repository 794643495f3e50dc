// Who on a pipeline stage holds which part of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "llm/layout.h"
#include "llm/tensors.h"

namespace dovetail::realloc {

/// Positions of a stage (see positions_of), ascending. Equal ones are kept once, so that a number says which.
class PositionSets {
 public:
  std::size_t number_of(std::vector<int> positions);
  const std::vector<int>& at(std::size_t number) const { return *sets_[number]; }

 private:
  std::map<std::vector<int>, std::size_t> numbers_;
  std::vector<const std::vector<int>*> sets_;
};

/// A part of a tensor, and the positions that hold just this.
struct HeldPart {
  std::vector<llm::Slice> slices;  ///< one; up to three where ZeRO 3 cuts across rows
  std::size_t holders = 0;         ///< number in the PositionSets
};

/// The parts that `layout` cuts `tensor` into on the stage that has it. No two share an element, and together they are
/// the tensor. `experts`: how many each layer of the model has, where the tensor is of an expert. `shard_group`: of
/// Side.
std::vector<HeldPart> parts_of(const llm::Layout& layout, int shard_group, std::int64_t experts,
                               const llm::Tensor& tensor, PositionSets& sets);

/// The elements [begin, end) of `slice`, counted row by row, as up to three rectangles; none where begin == end.
std::vector<llm::Slice> flat_range(const llm::Slice& slice, std::int64_t begin, std::int64_t end);

}  // namespace dovetail::realloc
