// The logs of all trainers: whose they are, and reading them.
#pragma once

#include <array>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "trainers/logs/log_keys.h"
#include "trainers/logs/step_log.h"

namespace dovetail::trainers {

/// Whose log it is; `dovetail`: the rows of our own runs.
enum class LogFormat { verl, openrlhf, nemo_rl, areal, slime, roll, prime_rl, dovetail };
constexpr auto names_of(LogFormat) {
  return std::array{base::EnumName{"verl", LogFormat::verl},         base::EnumName{"openrlhf", LogFormat::openrlhf},
                    base::EnumName{"nemo-rl", LogFormat::nemo_rl},   base::EnumName{"areal", LogFormat::areal},
                    base::EnumName{"slime", LogFormat::slime},       base::EnumName{"roll", LogFormat::roll},
                    base::EnumName{"prime-rl", LogFormat::prime_rl}, base::EnumName{"dovetail", LogFormat::dovetail}};
}

const LogKeys& log_keys(LogFormat format);

/// What the lines of a log say so far: those of a console, or JSON lines. None may be there, and the last one may not
/// have come to its end. Errors are those of a line.
base::Result<StepLog> read_lines_so_far(const LogFile& file);

/// Puts the files of one run together. A file is what a trainer prints (console.h), or a table of a tracker
/// (table_log.h), told apart by what is in it. Every mistake is an Error at its line and column: text of no kind, a
/// number or a step that is none, nothing at all.
base::Result<StepLog> read_step_log(const std::vector<LogFile>& files);

}  // namespace dovetail::trainers
