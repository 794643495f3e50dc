// The folder of a run: its inputs, its lock, and the files that grow while it runs.
//
//   job.yaml plan.json                    inputs of the run
//   metrics.jsonl                         a row per iteration
//   eval.jsonl                            a row per evaluation
//   samples.jsonl                         a row per response
//   tensorboard/ checkpoints/ export/ training/
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/growing_file.h"
#include "base/result.h"
#include "control/algorithm/experience.h"
#include "control/data/run_inputs.h"
#include "control/run/run_sink.h"

namespace dovetail::base {
class Descriptor;
}

namespace dovetail::records {

inline constexpr const char* metrics_file_name = "metrics.jsonl";
inline constexpr const char* evaluations_file_name = "eval.jsonl";
inline constexpr const char* samples_file_name = "samples.jsonl";

/// Formats a row of metrics.jsonl or eval.jsonl: the metrics in order, timings in an object at the end. Numbers have
/// the fewest digits that read back as the same value; values that are not finite are null.
std::string row_of(const control::Metrics& metrics);

/// Formats a row of samples.jsonl: everything that a script needs to recompute rewards and losses. `prompt` is the text
/// of the sample's prompt. Values per token are lists; empty lists are omitted.
std::string row_of(std::int64_t iteration, const control::Sample& sample, std::string_view prompt);

/// Returns the CRC-32C (Castagnoli) of the bytes.
std::uint32_t crc32c(std::string_view bytes);

/// A TensorBoard event file (github.com/tensorflow/tensorboard: proto/event.proto, proto/summary.proto). Records are
/// framed as in TFRecord: length, masked CRC-32C, bytes, masked CRC-32C.
class EventFile {
 public:
  /// Begins a new file. Its name sorts after the event files in the folder, because TensorBoard reads files in order of
  /// name. `first_step` is the step at which a stopped run resumes. If the folder has other event files, the new one
  /// begins with a SessionLog, which makes TensorBoard drop their events from `first_step` on.
  static base::Result<EventFile> open(const std::string& folder, std::int64_t first_step);

  /// Writes each metric except the iteration as a scalar at `step`. Its name gets the prefix "timing" if it is a
  /// timing, otherwise `prefix`: "timing/seconds", "train/reward".
  base::Status add(const control::Metrics& metrics, std::int64_t step, std::string_view prefix);

 private:
  explicit EventFile(base::LineFile file);

  base::LineFile file_;
};

/// Files of a run that grow by rows: metrics, evaluations, samples and TensorBoard events. Each row is written
/// completely or not at all, except for the last row of a program that is killed while writing. If a function cannot
/// add a row, it returns a Failure::io Error with the path, and the file contains no part of the row.
class RunFolder {
 public:
  /// Opens the folder of a run that has completed `iterations`, and creates missing files. Cuts off rows of later
  /// iterations, an incomplete last row and, if `is_to_be_evaluated` (RunState), the evaluation at `iterations`,
  /// which the run repeats. Removes files that killed processes left incomplete.
  static base::Result<RunFolder> open(const std::string& folder, std::int64_t iterations,
                                      bool is_to_be_evaluated = false);

  base::Status add_metrics(const control::Metrics& metrics);
  base::Status add_evaluation(const control::Metrics& metrics);
  /// Adds a row per sample. Sample::prompt is an index into `prompts`.
  base::Status add_samples(std::int64_t iteration, std::span<const control::Sample> samples,
                           std::span<const control::PromptTokens> prompts);
  /// Flushes the rows of all .jsonl files to disk. Call this before saving a checkpoint, so that no checkpoint is ahead
  /// of the rows.
  base::Status flush();

 private:
  RunFolder(base::LineFile metrics, base::LineFile evaluations, base::LineFile samples, EventFile events);

  base::LineFile metrics_;
  base::LineFile evaluations_;
  base::LineFile samples_;
  EventFile events_;
};

/// Lock on the folder of a run, so that only one program uses it. Held until destruction, or until the program ends for
/// any reason.
class FolderLock {
 public:
  /// Takes the lock, and creates the folder if it is missing. Returns a bad_input Error if another program holds the
  /// lock, and Failure::io if the folder cannot be created or opened. On file systems without locks, succeeds
  /// without a lock.
  static base::Result<FolderLock> take(const std::string& folder);

  FolderLock(FolderLock&&) noexcept;
  FolderLock& operator=(FolderLock&&) noexcept;
  ~FolderLock();

 private:
  explicit FolderLock(std::unique_ptr<base::Descriptor> folder);

  std::unique_ptr<base::Descriptor> folder_;
};

}  // namespace dovetail::records
