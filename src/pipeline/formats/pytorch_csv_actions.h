// Inside the PyTorch CSV: the actions of a file, before it is known what they are a schedule of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// What an action does, whatever its dialect calls it.
enum class Verb {
  forward,
  whole_backward,
  input_gradient,
  weight_gradient,
  send_forward,
  receive_forward,
  send_backward,
  receive_backward,
  skipped,  ///< UNSHARD, RESHARD, REDUCE_GRAD: memory of parameters, not a schedule
};

struct Action {
  Verb verb = Verb::skipped;
  std::string_view name;  ///< as the file writes it: "B" of 2024 is an input_gradient
  int stage = 0;
  int microbatch = 0;
  int rank = 0;
  int position = 0;  ///< in the rank's row
  base::FilePlace place;
};

/// Whether it is an op of the pipeline: F, B, I or W.
bool is_compute(Verb verb);

/// "1RECV_F0"
std::string text_of(const Action& action);

struct ActionFile {
  std::vector<std::vector<Action>> ranks;
  std::vector<base::FilePlace> rank_places;  ///< of each row
  std::string dialect;                       ///< in words, for a note
};

/// Calls visit(action) for each, rank by rank.
template <class Visit>
void for_each_action(const ActionFile& file, Visit visit) {
  for (const auto& rank : file.ranks)
    for (const Action& action : rank) visit(action);
}

/// Reads the cells; the parts of an OVERLAP_F_B container become actions of their own, in their order.
base::Result<ActionFile> parse_pytorch_actions(std::string_view content, const std::string& path);

/// The problem of a file alone: a device a rank, ops of one tick (B of two), activation 1. That every op is there is
/// not checked.
base::Result<Problem> infer_problem(const ActionFile& file, const std::string& path);

/// A pipeline's devices in the order in which its stages first visit them: the ranks of its CSV.
std::vector<DeviceId> ranks_of(const std::vector<DeviceId>& stage_devices);

}  // namespace dovetail::pipeline
