// Reads the logs of all supported trainers.
#pragma once

#include <array>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "trainers/logs/log_keys.h"
#include "trainers/logs/step_log.h"

namespace dovetail::trainers {

/// Program that wrote a log. `dovetail`: the metrics of Dovetail's own runs.
enum class LogFormat { verl, openrlhf, nemo_rl, areal, slime, roll, prime_rl, dovetail };
constexpr auto names_of(LogFormat) {
  return std::array{base::EnumName{"verl", LogFormat::verl},         base::EnumName{"openrlhf", LogFormat::openrlhf},
                    base::EnumName{"nemo-rl", LogFormat::nemo_rl},   base::EnumName{"areal", LogFormat::areal},
                    base::EnumName{"slime", LogFormat::slime},       base::EnumName{"roll", LogFormat::roll},
                    base::EnumName{"prime-rl", LogFormat::prime_rl}, base::EnumName{"dovetail", LogFormat::dovetail}};
}

const LogKeys& log_keys(LogFormat format);

/// Reads the complete lines of a log that is still being written: console output or JSON lines. The log may be empty.
/// An incomplete last line is ignored. Returns an Error for an invalid line.
base::Result<StepLog> read_partial_log(const LogFile& file);

/// Reads and merges the files of one run. Each is console output (console.h) or a tracker's file (step_log.h), detected
/// by content. Returns an Error, with a line and column if possible, for unrecognized text, an invalid number or step,
/// or an empty log.
base::Result<StepLog> read_step_log(const std::vector<LogFile>& files);

}  // namespace dovetail::trainers
