// The ops of a problem in time order, as a network of rows. Refutations of a deadline and a capacity operate on it.
//
// Micro-batches are interchangeable, so a refutation may assume that each kind of op runs in micro-batch order on every
// stage (docs/bounds.md, "The order of time"). The k-th op of a row then belongs to micro-batch k, and every dependency
// is a minimum distance between the starts of two ops of the network.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::fuse {

/// Ops of one kind on one stage of one pipeline, in time order. They are numbered from begin to end - 1.
struct PositionRow {
  base::PipelineId pipeline;
  base::DeviceId device;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int32_t on_device = 0;        ///< index of the row on its device
  std::int32_t first_on_device = 0;  ///< number of ops in earlier rows on the device
  base::Ticks duration;              ///< duration of each op
  base::Memory change;  ///< change of the device's memory by each op: at its start if positive, at its end if negative
  std::size_t precedences = 0;  ///< index of its first entry in Windows::preceding
  bool is_middle = false;       ///< whether it belongs to the pipeline's middle stage

  std::int32_t size() const { return end - begin; }
};

/// How positions of two rows correspond.
enum class Correspondence : std::uint8_t {
  same,         ///< position k to position k
  into_step,    ///< last op of a mini-batch to its optimizer step, on any stage and in any replica
  out_of_step,  ///< optimizer step to the first op of the next mini-batch, in the same or another replica
};

/// A rule for corresponding ops: the op in `to` starts at least `distance` after the start of the op in `from`.
struct RowArc {
  std::int32_t from = 0;
  std::int32_t to = 0;
  Correspondence correspondence = Correspondence::same;
  std::int32_t minibatch_size = 1;
  base::Ticks distance;
};

/// Rows and the rules between them. Split backwards are modeled as I and W. Immutable once built.
struct PositionNetwork {
  int devices = 0;
  std::vector<PositionRow> rows;
  std::vector<std::int32_t> row_of;           ///< [op] its row
  std::vector<std::vector<std::int32_t>> on;  ///< [device] rows on the device
  std::vector<std::int32_t> ops_on;           ///< [device] number of ops in its rows
  std::vector<RowArc> arcs;
  std::vector<std::vector<std::int32_t>> out;  ///< [row] outgoing arcs
  std::vector<std::vector<std::int32_t>> in;   ///< [row] incoming arcs
  std::vector<base::Ticks> heads;              ///< [op] earliest start, from position_bounds
  std::vector<base::Ticks> tails;              ///< [op] minimum time after its end, from position_bounds
  std::size_t precedence_count = 0;            ///< size of Windows::preceding
  std::vector<base::PipelineId> by_length;     ///< pipelines, by descending duration of a micro-batch

  std::size_t size() const { return row_of.size(); }
  base::Ticks duration(std::int32_t op) const {
    return rows[static_cast<std::size_t>(row_of[static_cast<std::size_t>(op)])].duration;
  }
};

/// Builds the network of `problem`. REQUIRES: find_fault(problem) finds nothing.
PositionNetwork position_network(const pipeline::Problem& problem);

/// Returns the position in arc.to that corresponds to `position` in arc.from, or nullopt if it has no counterpart.
std::optional<std::int32_t> forward_along(const PositionNetwork& network, const RowArc& arc, std::int32_t position);
/// Returns the position in arc.from that corresponds to `position` in arc.to, or nullopt if it has no counterpart.
std::optional<std::int32_t> backward_along(const PositionNetwork& network, const RowArc& arc, std::int32_t position);

}  // namespace dovetail::fuse
