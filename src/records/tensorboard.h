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
  /// Begins a new one, named by the time and the process. With `first_step` above 0 it tells TensorBoard to drop what
  /// other files of the folder have from that step on: a run that was resumed.
  static base::Result<EventFile> open(const std::string& folder, std::int64_t first_step);

  /// A scalar for each figure but the iteration, all at that step. `prefix` groups them: "train".
  base::Status add(const control::Figures& figures, std::int64_t step, std::string_view prefix);

 private:
  explicit EventFile(base::LineFile file);

  base::LineFile file_;
};

}  // namespace dovetail::records
