// Event files that TensorBoard reads (github.com/tensorflow/tensorboard: proto/event.proto, proto/summary.proto;
// records as TFRecord has them: length, masked CRC-32C, bytes, masked CRC-32C).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/line_file.h"
#include "base/result.h"
#include "control/run/run_sink.h"

namespace dovetail::records {

/// The CRC-32C (Castagnoli) of the bytes.
std::uint32_t crc32c(std::string_view bytes);

/// A file of events in a folder.
class EventFile {
 public:
  /// Begins a new one, named so that TensorBoard, which reads files by their names, takes it after those of the folder.
  /// Where there are others it begins with a SessionLog that tells TensorBoard to drop what they have from `first_step`
  /// on: they are of a run that was stopped and goes on from there.
  static base::Result<EventFile> open(const std::string& folder, std::int64_t first_step);

  /// A scalar for each figure but the iteration, all at that step: "train/reward" with the prefix "train", and
  /// "timing/seconds".
  base::Status add(const control::Figures& figures, std::int64_t step, std::string_view prefix);

 private:
  explicit EventFile(base::LineFile file);

  base::LineFile file_;
};

}  // namespace dovetail::records
