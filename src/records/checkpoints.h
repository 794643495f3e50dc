// Checkpoints of a run: each is a folder with the models, the state and a manifest of checksums
// (dovetail/checkpoint@1).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "control/models.h"
#include "control/run/run_state.h"

namespace dovetail::records {

/// Location of the checkpoints of a run, and the run they belong to.
struct CheckpointPlace {
  std::string folder;  ///< "RUN/checkpoints"
  std::string run_hash;
  std::int64_t keep = 2;  ///< number of newest checkpoints that are not deleted
};

/// Writes a checkpoint under a temporary name, flushes it to disk and renames it. Then deletes all checkpoints except
/// the newest `place.keep` and the best, which is the newest one saved with `is_best`. If the program is killed
/// meanwhile, every checkpoint is either complete or absent. Returns Failure::io if a file cannot be written or
/// deleted. Removes a new checkpoint that could not be written.
base::Status keep_checkpoint(const CheckpointPlace& place, const control::RunState& state,
                             const control::Models& models, bool is_best);

struct OpenedCheckpoint {
  std::string folder;
  control::RunState state;
};

/// Opens the newest checkpoint whose files match its manifest, and deletes unfinished checkpoints. Renames newer
/// checkpoints, which are damaged, to "damaged-..." so that they are not opened again. `warn` receives a message about
/// each of them, which names the damaged file. Returns nullopt if there are no checkpoints, a Failure::io Error if all
/// are damaged, and a bad_input Error if the newest checkpoint with a valid manifest belongs to a run with another
/// hash.
base::Result<std::optional<OpenedCheckpoint>> open_newest(const CheckpointPlace& place,
                                                          const std::function<void(const std::string&)>& warn);

/// Returns the folder of the best checkpoint, or an empty string if no checkpoint was saved with `is_best`.
std::string best_of(const CheckpointPlace& place);

inline constexpr std::string_view checkpoint_format = "dovetail/checkpoint@1";
/// File name of the manifest within the folder.
inline constexpr std::string_view manifest_name = "manifest.json";

/// A file of the checkpoint.
struct ManifestFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string sha256;

  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

struct Manifest {
  std::string run;             ///< hash of the run that the checkpoint belongs to
  std::int64_t iteration = 0;  ///< completed iterations
  bool is_best = false;        ///< true if the evaluation before the checkpoint was the run's best so far
  std::vector<ManifestFile> files;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// Returns the files of a folder except its manifest, sorted by name, and flushes each to disk. Returns Failure::io if
/// a file cannot be read or is not a regular file.
base::Result<std::vector<ManifestFile>> files_of(const std::string& folder);

/// Returns the manifest as JSON text, with a hash over all its other members.
std::string manifest_to_json(const Manifest& manifest);

/// Reads a manifest. Returns an Error with a line and column if the manifest is invalid or if its hash does not match
/// its other members.
base::Result<Manifest> parse_manifest(std::string_view content, const std::string& path);

/// Reads the manifest of the checkpoint in `folder`.
base::Result<Manifest> read_manifest(const std::string& folder);

/// Checks that the folder has all files of the manifest, unchanged. Otherwise returns a Failure::io Error with the path
/// of the first file that differs and what is wrong with it.
base::Status check_files(const Manifest& manifest, const std::string& folder);

}  // namespace dovetail::records
