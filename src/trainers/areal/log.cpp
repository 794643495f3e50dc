#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/document.h"
#include "trainers/areal/areal.h"

namespace dovetail::trainers {
namespace {

constexpr std::string_view bar = "\u2502";          // separates the cells of a table
constexpr std::string_view table_begin = "\u2552";  // upper left corner of a table
constexpr std::string_view table_end = "\u255B";    // lower right corner of a table
constexpr std::string_view step_marker = "Train step ";
constexpr std::string_view table_marker = "Stats (";

struct TableCell {
  std::size_t at = 0;
  std::string_view text;
};

std::vector<TableCell> cells_of(std::string_view text) {
  std::vector<TableCell> cells;
  std::size_t at = text.find(bar);
  while (at != std::string_view::npos) {
    const std::size_t begin = at + bar.size();
    at = text.find(bar, begin);
    if (at == std::string_view::npos) break;
    std::string_view cell = text.substr(begin, at - begin);
    const std::size_t blank = std::min(cell.find_first_not_of(' '), cell.size());
    cell.remove_prefix(blank);
    while (cell.ends_with(' ')) cell.remove_suffix(1);
    cells.push_back({begin + blank, cell});
  }
  return cells;
}

/// Reads the tables that follow the line of a step. In excerpts of logs, a table may lack its heading or its frame.
struct ArealLines {
  enum class Table {
    none,
    headed,   ///< with a heading: all rows are statistics
    framed,   ///< with a frame but no heading
    unframed  ///< rows without frame or heading
  };
  std::optional<std::int64_t> step;
  Table table = Table::none;

  base::Status read(const ConsoleLine& line, StepLogBuilder& log) {
    const std::string_view text = line.text;
    if (const std::size_t at = text.find(step_marker); at != std::string_view::npos && text.ends_with(" done."))
      return begin_step(line, at + step_marker.size());
    const bool is_row = text.find(bar) != std::string_view::npos;
    if (step && table != Table::headed) begin_table(text, is_row);
    if (table != Table::none && is_row) DOVETAIL_CHECK(read_row(line, log));
    if (text.find(table_end) != std::string_view::npos) table = Table::none;
    return {};
  }

  void begin_table(std::string_view text, bool is_row) {
    if (text.find(table_marker) != std::string_view::npos)
      table = Table::headed;
    else if (text.find(table_begin) != std::string_view::npos)
      table = Table::framed;
    else if (table == Table::none && is_row && text.find("timeperf/") != std::string_view::npos)
      table = Table::unframed;
    else if (table == Table::unframed && !is_row)
      table = Table::none;
  }

  base::Status begin_step(const ConsoleLine& line, std::size_t at) {
    const std::string_view rest = std::string_view(line.text).substr(at);
    const std::string_view number = rest.substr(0, rest.find_first_of("/ "));
    step = logged_step(number);
    table = Table::none;
    if (step) return {};
    return line.error(
        at, fmt::format("the step is {}; accepted: an integer from 0 to {}", base::quote(number), max_step_number));
  }

  base::Status read_row(const ConsoleLine& line, StepLogBuilder& log) const {
    const std::vector<TableCell> cells = cells_of(line.text);
    for (std::size_t index = 0; index + 1 < cells.size(); index += 2) {
      const TableCell& key = cells[index];
      const TableCell& value = cells[index + 1];
      if (key.text.empty() && value.text.empty()) continue;
      const PrintedNumber number = printed_number(value.text);
      // A table without heading may come from another program.
      if (table != Table::headed && !number.well_formed) continue;
      if (key.text.empty() || !number.well_formed)
        return line.error(value.at, fmt::format("{} is {} at step {}; accepted: a key and a number",
                                                base::quote(key.text), base::quote(value.text), *step));
      if (number.value)
        log.add(std::string(key.text), *line.path, {*step, *number.value, line.line, line.columns[key.at]});
      else
        log.add_not_number();
    }
    if (cells.size() % 2 == 0 || table != Table::headed) return {};
    return line.error(line.text.size(),
                      "a row of statistics has a key without a number; accepted: alternating keys and numbers");
  }
};

}  // namespace

const LogKeys& areal_log_keys() {
  using enum TimeKind;
  using enum PhaseKind;
  static const LogKeys keys{.prefixes = {"timeperf/"},
                            .times = {{"rollout", phase, generation, {"actor"}},
                                      {"recompute_logp", phase, inference, {"actor"}},
                                      {"ref_logp", phase, inference, {"reference"}},
                                      {"critic_values", phase, inference, {"critic"}},
                                      {"train_step", phase, training, {"actor"}},
                                      {"critic_train_step", phase, training, {"critic"}},
                                      {"actor_onload", phase, offload},
                                      {"actor_offload", phase, offload},
                                      {"ref_onload", phase, offload},
                                      {"ref_offload", phase, offload},
                                      {"critic_onload", phase, offload},
                                      {"critic_offload", phase, offload},
                                      {"update_weights", phase, refit},
                                      {"rollout_onload", phase, refit},
                                      {"rollout_offload", phase, refit},
                                      {"compute_advantage", other},
                                      {"teacher_logp", other},
                                      {"teacher_onload", other},
                                      {"teacher_offload", other},
                                      {"clear_batches", other},
                                      {"save", interruption},
                                      {"checkpoint_for_recover", interruption},
                                      {"eval", interruption},
                                      {"rollout_pause", part},
                                      {"rollout_pause_generation", part},
                                      {"rollout_continue_generation", part},
                                      {"rollout_resume", part}},
                            .lengths = {{"ppo_actor/prompt_len/avg", LengthFigure::mean_prompt},
                                        {"ppo_actor/seq_len/avg", LengthFigure::mean_sequence},
                                        {"ppo_actor/no_eos_ratios/avg", LengthFigure::at_cap}},
                            .sums_iteration = true};
  return keys;
}

LineReader areal_line_reader() {
  const auto lines = std::make_shared<ArealLines>();
  return [lines](const ConsoleLine& line, StepLogBuilder& log) { return lines->read(line, log); };
}

}  // namespace dovetail::trainers
