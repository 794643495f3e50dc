#include "trainers/log_formats.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/utf8.h"
#include "trainers/areal/areal.h"
#include "trainers/dovetail/log.h"
#include "trainers/logs/console.h"
#include "trainers/logs/step_log.h"
#include "trainers/nemo_rl/nemo_rl.h"
#include "trainers/openrlhf/openrlhf.h"
#include "trainers/prime_rl/log.h"
#include "trainers/roll/roll.h"
#include "trainers/slime/slime.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

/// Returns the readers of all trainers that print their metrics.
std::vector<LineReader> line_readers() {
  return {verl_line_reader(),  openrlhf_line_reader(), nemo_rl_line_reader(), areal_line_reader(),
          slime_line_reader(), roll_line_reader(),     prime_rl_line_reader()};
}

std::size_t first_of(std::string_view text, std::size_t from) { return text.find_first_not_of(" \t\r\n", from); }

/// Returns whether `text` starts like a JSON object. A single quote after the brace indicates a Python dict.
bool begins_as_json(std::string_view text) {
  const std::size_t open = first_of(text, 0);
  if (open == std::string_view::npos || text[open] != '{') return false;
  const std::size_t next = first_of(text, open + 1);
  return next == std::string_view::npos || text[next] != '\'';
}

/// Returns whether `text` starts with the `format` of a Dovetail file: a job, a plan, or the output of `measured`.
bool is_own_format(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("{\" \t\r\n"), text.size()));
  const std::string_view line = text.substr(0, text.find_first_of(",\n"));
  return line.starts_with("format") && line.find("dovetail/") != std::string_view::npos;
}

base::Status add_file(const LogFile& file, StepLogBuilder& log) {
  const std::string_view text = base::without_byte_order_mark(file.content);
  if (is_own_format(text))
    return base::Error{base::Failure::bad_input, file.path, 1, 1,
                       "this is a Dovetail file, not a log; accepted: the log of a run, such as metrics.jsonl"};
  if (begins_as_json(text)) return add_json_log(file, log);
  const std::size_t before = log.size();
  DOVETAIL_CHECK(add_console_log(file, line_readers(), log));
  if (log.size() > before) return {};
  if (find_ray_prefix(text) != std::string_view::npos || text.find('\x1B') != std::string_view::npos)
    return base::Error{
        base::Failure::bad_input, file.path, 0, 0,
        "this console output contains no step metrics; accepted: a trainer's console output with step metrics"};
  const std::size_t begin = first_of(text, 0);
  if (begin != std::string_view::npos && text[begin] == '[')
    return base::Error{
        base::Failure::bad_input, file.path, 1, 1,
        "this is a JSON list; accepted: console output, JSON lines with an object per step, or CSV from TensorBoard"};
  return add_csv_log(file, log);
}

}  // namespace

const LogKeys& log_keys(LogFormat format) {
  switch (format) {
    case LogFormat::verl:
      return verl_log_keys();
    case LogFormat::openrlhf:
      return openrlhf_log_keys();
    case LogFormat::nemo_rl:
      return nemo_rl_log_keys();
    case LogFormat::areal:
      return areal_log_keys();
    case LogFormat::slime:
      return slime_log_keys();
    case LogFormat::roll:
      return roll_log_keys();
    case LogFormat::prime_rl:
      return prime_rl_log_keys();
    case LogFormat::dovetail:
      return dovetail_log_keys();
  }
  DOVETAIL_ASSERT(false);
  return dovetail_log_keys();
}

base::Result<StepLog> read_partial_log(const LogFile& file) {
  StepLogBuilder builder;
  const std::string_view complete_lines(file.content.data(), file.content.rfind('\n') + 1);
  const LogFile lines{std::string(complete_lines), file.path, file.key};
  DOVETAIL_CHECK(begins_as_json(base::without_byte_order_mark(complete_lines))
                     ? add_json_log(lines, builder)
                     : add_console_log(lines, line_readers(), builder));
  return builder.take();
}

base::Result<StepLog> read_step_log(const std::vector<LogFile>& files) {
  StepLogBuilder builder;
  for (const LogFile& file : files) DOVETAIL_CHECK(add_file(file, builder));
  StepLog log = builder.take();
  if (log.series.empty() && !files.empty())
    return base::Error{.path = files.front().path,
                       .message = "the log contains no numbers; accepted: a log with numbers for each step"};
  return log;
}

}  // namespace dovetail::trainers
