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

/// Where a run keeps its checkpoints, and whose they are.
struct CheckpointPlace {
  std::string folder;  ///< "RUN/checkpoints"
  std::string run_hash;
  std::int64_t keep = 2;
};

/// Writes a checkpoint beside the others under a name that is taken for none, flushes it to the disk, renames it, and
/// then deletes the oldest ones but `keep` and the best: the newest that was kept with `is_best`. A program that is
/// ended meanwhile leaves all older ones as they were, and the new one whole or not at all. Failure::io where the disk
/// does; then nothing is left of the new one.
base::Status keep_checkpoint(const CheckpointPlace& place, const control::RunState& state,
                             const control::Models& models, bool is_best);

struct OpenedCheckpoint {
  std::string folder;
  control::RunState state;
};

/// The newest one whose files are what its manifest says; what is left of one that was never done is deleted. Those
/// after it are damaged: each is renamed to "damaged-...", so that nobody takes it for the newest again, and `warn` is
/// told of its file. Nothing where there is none at all; a Failure::io Error where all are damaged, and a bad_input one
/// where the newest that can be read belongs to a run of another hash.
base::Result<std::optional<OpenedCheckpoint>> open_newest(const CheckpointPlace& place,
                                                          const std::function<void(const std::string&)>& warn);

/// The folder of the best checkpoint; empty: there is none.
std::string best_of(const CheckpointPlace& place);

}  // namespace dovetail::records
