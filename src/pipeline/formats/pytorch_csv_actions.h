// Internal to the PyTorch CSV reader and writer: the actions of a file, before their problem is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

/// Meaning of an action, independent of dialect.
enum class Verb {
  forward,
  whole_backward,
  input_gradient,
  weight_gradient,
  send_forward,
  receive_forward,
  send_backward,
  receive_backward,
  skipped,  ///< UNSHARD, RESHARD, REDUCE_GRAD: actions of data parallelism, not part of a schedule
};

struct Action {
  Verb verb = Verb::skipped;
  std::string_view name;  ///< name as written in the file; in the dialect of 2024, "B" is an input_gradient
  int stage = 0;
  int microbatch = 0;
  int rank = 0;
  int position = 0;  ///< index in the row of the rank
  base::FilePlace place;
};

/// Whether the action is an op of the pipeline: F, B, I or W.
bool is_compute(Verb verb);

/// Returns the action as text: "1RECV_F0".
std::string text_of(const Action& action);

struct ActionFile {
  std::vector<std::vector<Action>> ranks;
  std::vector<base::FilePlace> rank_places;  ///< [rank] position of its row
  std::string dialect;                       ///< description of the dialect, for a note
};

/// Calls visit(action) for each action, rank by rank.
template <class Visit>
void for_each_action(const ActionFile& file, Visit visit) {
  for (const auto& rank : file.ranks)
    for (const Action& action : rank) visit(action);
}

/// Reads the actions of a file. The actions in an OVERLAP_F_B container become separate actions, in their order.
base::Result<ActionFile> parse_pytorch_actions(std::string_view content, const std::string& path);

/// Infers a problem from the file alone: it has one device per rank, B lasts two ticks and other ops last one, and the
/// activation is 1. Does not check that every op is present.
base::Result<Problem> infer_problem(const ActionFile& file, const std::string& path);

/// Returns the devices of a pipeline in the order in which its stages first visit them. The r-th device is rank r of
/// the CSV.
std::vector<DeviceId> ranks_of(const std::vector<DeviceId>& stage_devices);

}  // namespace dovetail::pipeline
