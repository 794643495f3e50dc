// The checkpoints of a run: each a folder with the models, the state, and a manifest of checksums.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "control/models.h"
#include "control/run/run_state.h"

namespace dovetail::records {

inline constexpr std::string_view checkpoint_format = "dovetail/checkpoint@1";

/// Where a run keeps its checkpoints, and whose they are.
struct CheckpointPlace {
  std::string folder;  ///< "RUN/checkpoints"
  std::string run_hash;
  std::int64_t keep = 2;
};

/// Writes a checkpoint beside the others under a name that is taken for none, flushes it to the disk, renames it, and
/// then deletes the oldest ones but `keep` and the best. A program that is ended meanwhile leaves all older ones as
/// they were. Failure::io where the disk does.
base::Status keep_checkpoint(const CheckpointPlace& place, const control::RunState& state,
                             const control::Models& models, bool is_best);

struct OpenedCheckpoint {
  std::string folder;
  control::RunState state;
};

/// The newest one whose files are what its manifest says; what is left of one that was never done is deleted. `warn` is
/// told of those that are damaged. Nothing where there is none at all; an Error where all are damaged, or belong to a
/// run of another hash.
base::Result<std::optional<OpenedCheckpoint>> open_newest(const CheckpointPlace& place,
                                                          const std::function<void(const std::string&)>& warn);

/// The folder of the best checkpoint; empty: none was marked.
std::string best_of(const CheckpointPlace& place);

}  // namespace dovetail::records
