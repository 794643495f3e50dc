// The ops of a problem in order of time, as one network of rows: what the refutation of a deadline and a capacity works
// on.
//
// Micro-batches are alike, so the search for a contradiction may assume that they run in order of their numbers on
// every stage, for each kind of op apart (docs/bounds.md, "The order of time"). The k-th op of a row then belongs to
// micro-batch k, and every rule of the problem is a minimal distance between the starts of two ops of the network.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::fuse {

/// The ops of one kind on one stage of one pipeline, in order of time. Its ops are numbered begin ... end - 1.
struct PositionRow {
  base::PipelineId pipeline;
  base::DeviceId device;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int32_t on_device = 0;        ///< which of the rows of its device
  std::int32_t first_on_device = 0;  ///< how many ops the rows before it have there
  base::Ticks duration;              ///< of each op
  base::Memory change;          ///< of what the device holds: positive from the start of an op, negative from its end
  std::size_t precedences = 0;  ///< where its part of Windows::preceding begins
  bool is_middle = false;       ///< of the pipeline's middle stage

  std::int32_t size() const { return end - begin; }
};

/// How positions of two rows belong together.
enum class Correspondence : std::uint8_t {
  same,         ///< k to k
  into_step,    ///< the last op of a mini-batch to its optimizer step, on its own stage or on another
  out_of_step,  ///< an optimizer step to the first op of the mini-batch after it, in its own replica or in another
};

/// Between corresponding ops: the start of the one in `to` is at least `distance` after the start of the one in `from`.
struct RowArc {
  std::int32_t from = 0;
  std::int32_t to = 0;
  Correspondence correspondence = Correspondence::same;
  std::int32_t minibatch_size = 1;
  base::Ticks distance;
};

/// Rows and the rules between them; split backwards are taken as I and W. Immutable once built.
struct PositionNetwork {
  int devices = 0;
  std::vector<PositionRow> rows;
  std::vector<std::int32_t> row_of;           ///< [op]
  std::vector<std::vector<std::int32_t>> on;  ///< [device] its rows
  std::vector<std::int32_t> ops_on;           ///< [device] how many ops they have
  std::vector<RowArc> arcs;
  std::vector<std::vector<std::int32_t>> out;  ///< [row] arcs that leave it
  std::vector<std::vector<std::int32_t>> in;   ///< [row] arcs that enter it
  std::vector<base::Ticks> heads;              ///< [op] as position_bounds has them
  std::vector<base::Ticks> tails;              ///< [op] likewise
  std::size_t precedence_count = 0;            ///< size of Windows::preceding
  std::vector<base::PipelineId> by_length;     ///< pipelines, the one whose micro-batch takes longest first

  std::size_t size() const { return row_of.size(); }
  base::Ticks duration(std::int32_t op) const {
    return rows[static_cast<std::size_t>(row_of[static_cast<std::size_t>(op)])].duration;
  }
};

/// REQUIRES: no find_fault(problem).
PositionNetwork position_network(const pipeline::Problem& problem);

/// The position in arc.to that `position` in arc.from belongs to, if there is one.
std::optional<std::int32_t> forward_along(const PositionNetwork& network, const RowArc& arc, std::int32_t position);
/// The position in arc.from that `position` in arc.to belongs to, if there is one.
std::optional<std::int32_t> backward_along(const PositionNetwork& network, const RowArc& arc, std::int32_t position);

}  // namespace dovetail::fuse
