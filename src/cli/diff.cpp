// dovetail diff: compares two schedules of the same problem.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "answer/question/json.h"
#include "answer/schedules/input_files.h"
#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "base/stopwatch.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/question_progress.h"
#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/schedule_diff.h"
#include "report/page/summary.h"
#include "report/schedule/gantt.h"
#include "report/text/table.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::cli {
namespace {

using answer::LoadedSchedule;
using timeline::BarKind;

constexpr std::size_t moves_shown = 5;
constexpr std::size_t max_devices_named = 12;

struct DiffArguments {
  std::array<std::string, 2> files;
  std::optional<answer::Input> problem;
  std::optional<std::string> format;
  std::string gantt = "auto";
  ColorChoice color = ColorChoice::automatic;
  bool json = false;
};

/// One of the two schedules.
struct Side {
  LoadedSchedule loaded;
  pipeline::Evaluation evaluation;
  timeline::Timeline timeline;

  base::Ticks idle(std::size_t device, BarKind cause) const {
    return timeline::time_by_bar_kind(timeline::bars_of(timeline, device))[timeline::index_of(cause)];
  }
  base::Ticks idle(std::size_t device) const { return evaluation.makespan - evaluation.devices[device].busy; }
};

struct Difference {
  std::array<Side, 2> sides;
  pipeline::ScheduleDifference schedules;

  const pipeline::Problem& problem() const { return sides[0].loaded.file.schedule.problem; }
  base::TimeUnit unit() const { return problem().time_unit; }
  std::size_t devices() const { return sides[0].evaluation.devices.size(); }
};

/// Loads both schedules. Their problem comes from --problem, otherwise from a file that contains its problem, otherwise
/// it is inferred from the first file.
base::Result<std::array<LoadedSchedule, 2>> load_both(const DiffArguments& arguments) {
  if (std::count(arguments.files.begin(), arguments.files.end(), "-") +
          (arguments.problem == answer::Input{"-"} ? 1 : 0) >
      1)
    return base::bad_input("standard input can provide only one of A, B and the problem");
  DOVETAIL_TRY(const auto forced, answer::format_to_read(arguments.format));
  DOVETAIL_TRY(const answer::ScheduleText a, answer::read_schedule_text({arguments.files[0]}, forced));
  DOVETAIL_TRY(const answer::ScheduleText b, answer::read_schedule_text({arguments.files[1]}, forced));
  if (arguments.problem) {
    DOVETAIL_TRY(const answer::NamedProblem named, answer::read_problem(*arguments.problem, note_callbacks()));
    DOVETAIL_TRY(LoadedSchedule first, load_schedule_of(named, a, note_callbacks()));
    DOVETAIL_TRY(LoadedSchedule second, load_schedule_of(named, b, note_callbacks()));
    return std::array{std::move(first), std::move(second)};
  }
  const bool swap = b.format == answer::ScheduleFormat::json && a.format != answer::ScheduleFormat::json;
  DOVETAIL_TRY(LoadedSchedule first, load_schedule(swap ? b : a, nullptr, note_callbacks()));
  const answer::NamedProblem named{first.path, first.file.schedule.problem};
  first.file.schedule.problem.capacity.reset();
  DOVETAIL_CHECK(check_valid(first));
  DOVETAIL_TRY(LoadedSchedule second, load_schedule_of(named, swap ? a : b, note_callbacks()));
  if (swap) std::swap(first, second);
  return std::array{std::move(first), std::move(second)};
}

Side make_side(LoadedSchedule loaded) {
  Side side;
  side.loaded = std::move(loaded);
  pipeline::LoweredSchedule lowered = pipeline::evaluate(side.loaded.file.schedule);
  side.timeline = timeline::schedule_timeline(side.loaded.file.schedule.problem, lowered, side.loaded.path);
  side.evaluation = std::move(lowered.evaluation);
  return side;
}

std::string figures(const Difference& difference) {
  const base::TimeUnit unit = difference.unit();
  const auto format_time = [unit](base::Ticks time) { return base::format_time(time, unit); };
  const auto& [a, b] = difference.sides;
  std::vector<std::vector<std::string>> rows;
  const auto add = [&rows](const char* name, auto x, auto y, auto format) {
    rows.push_back({name, format(x), format(y), answer::change_text(x, y, format), answer::change_share_text(x, y)});
  };
  add("makespan", a.evaluation.makespan, b.evaluation.makespan, format_time);
  add("peak activation", a.evaluation.peak_activation, b.evaluation.peak_activation, base::format_memory);
  rows.push_back({"bubbles", answer::percent(pipeline::bubble_rate(a.evaluation)),
                  answer::percent(pipeline::bubble_rate(b.evaluation)), "", ""});
  return report::render_table({{"", report::Align::left}, {"A"}, {"B"}, {"change"}, {""}}, rows);
}

std::string device_table(const Difference& difference) {
  const base::TimeUnit unit = difference.unit();
  const auto format_time = [unit](base::Ticks time) { return base::format_time(time, unit); };
  const auto& [a, b] = difference.sides;
  std::vector<report::Column> columns{{"device"}, {"busy"}, {"peak A"}, {"peak B"}, {"idle A"}, {"idle B"}};
  for (const BarKind cause : timeline::schedule_causes) columns.push_back({std::string(timeline::name_of(cause))});
  columns.push_back({"moved"});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t device = 0; device < difference.devices(); ++device) {
    rows.push_back({fmt::format("{}", device), format_time(a.evaluation.devices[device].busy),
                    base::format_memory(a.evaluation.devices[device].peak),
                    base::format_memory(b.evaluation.devices[device].peak), format_time(a.idle(device)),
                    format_time(b.idle(device))});
    for (const BarKind cause : timeline::schedule_causes)
      rows.back().push_back(answer::change_text(a.idle(device, cause), b.idle(device, cause), format_time));
    const pipeline::DeviceDifference& order = difference.schedules.devices[device];
    rows.back().push_back(fmt::format("{} of {}", order.moved, order.matched));
  }
  return report::render_table(columns, rows);
}

std::string op_text(const Difference& difference, const pipeline::PlacedOp& placed) {
  return fmt::format("{} at {}", pipeline::describe(difference.problem(), placed.op),
                     base::format_time(placed.start, difference.unit()));
}

std::string divergence_text(const Difference& difference) {
  const auto& divergence = difference.schedules.divergence;
  if (!divergence) return {};
  const auto side = [&](const std::optional<pipeline::PlacedOp>& placed) {
    return placed ? "starts " + op_text(difference, *placed) : std::string("has no more ops");
  };
  return fmt::format("first difference on device {}: A {}, B {}\n", divergence->device.value, side(divergence->a),
                     side(divergence->b));
}

std::string moves_table(const Difference& difference) {
  const base::TimeUnit unit = difference.unit();
  const auto format_time = [unit](base::Ticks time) { return base::format_time(time, unit); };
  std::vector<std::vector<std::string>> rows;
  for (const pipeline::Move& move : difference.schedules.moves) {
    if (rows.size() == moves_shown) break;
    rows.push_back({fmt::format("{}", move.device.value), pipeline::describe(difference.problem(), move.a.op),
                    format_time(move.a.start), format_time(move.b.start),
                    answer::change_text(move.a.start, move.b.start, format_time), fmt::format("{}", move.a.position),
                    fmt::format("{}", move.b.position)});
  }
  if (rows.empty()) return {};
  return "\nlargest moves (micro-batches numbered in order of time):\n" +
         report::render_table({{"device"},
                               {"op", report::Align::left},
                               {"start A"},
                               {"start B"},
                               {"shift"},
                               {"position A"},
                               {"position B"}},
                              rows);
}

/// "devices 0, 2 and 5", "device 3", "12 devices".
std::string devices_text(const std::vector<std::size_t>& devices) {
  if (devices.size() > max_devices_named) return fmt::format("{} devices", devices.size());
  if (devices.size() == 1) return fmt::format("device {}", devices.front());
  const std::vector<std::size_t> without_last(devices.begin(), devices.end() - 1);
  return fmt::format("devices {} and {}", fmt::join(without_last, ", "), devices.back());
}

/// "in favor of B: 12 ticks shorter; lower peak on devices 0 and 1". Empty if the schedule `winner` is better in no
/// respect.
std::string gains(const Difference& difference, std::size_t winner) {
  const base::TimeUnit unit = difference.unit();
  const Side& self = difference.sides[winner];
  const Side& other = difference.sides[1 - winner];
  std::vector<std::string> parts;
  if (self.evaluation.makespan < other.evaluation.makespan)
    parts.push_back(answer::time_with_unit(other.evaluation.makespan - self.evaluation.makespan, unit) + " shorter");
  if (self.evaluation.peak_activation < other.evaluation.peak_activation)
    parts.push_back(base::format_memory(other.evaluation.peak_activation - self.evaluation.peak_activation) +
                    " less peak activation");
  std::vector<std::size_t> lower;
  for (std::size_t device = 0; device < difference.devices(); ++device) {
    if (self.evaluation.devices[device].peak < other.evaluation.devices[device].peak) lower.push_back(device);
  }
  if (!lower.empty()) parts.push_back("lower peak on " + devices_text(lower));
  // If the makespans are equal, so is the idle time of every device.
  if (parts.empty()) return {};
  return fmt::format("in favor of {}: {}\n", winner == 0 ? "A" : "B", fmt::join(parts, "; "));
}

std::string order_text(const Difference& difference) {
  if (!difference.schedules.divergence) return "the schedules are equal; micro-batch numbers were not compared\n";
  std::int64_t moved = 0;
  std::int64_t matched = 0;
  std::int64_t only_a = 0;
  std::int64_t only_b = 0;
  for (const pipeline::DeviceDifference& device : difference.schedules.devices) {
    moved += device.moved;
    matched += device.matched;
    only_a += device.only_in_a;
    only_b += device.only_in_b;
  }
  std::string text =
      difference.schedules.same_order
          ? "every device runs the same ops in the same order, at different times\n"
          : fmt::format("{} of {} changed position on their device\n", moved, answer::counted(matched, "op"));
  if (only_a + only_b > 0) {
    text += fmt::format("the schedules split different backwards: {} only in A, {} only in B\n",
                        answer::counted(only_a, "op"), answer::counted(only_b, "op"));
  }
  return text;
}

/// Draws both charts on one time scale: the shorter schedule is narrower.
std::string charts(const Difference& difference, const DiffArguments& arguments) {
  report::TerminalStyle style;
  style.color = use_color(arguments.color);
  style.columns = chart_columns();
  style.scale_end = std::max(difference.sides[0].evaluation.makespan, difference.sides[1].evaluation.makespan);
  std::string text;
  for (const Side& side : difference.sides) text += report::render_terminal_gantt(side.timeline, style) + "\n";
  return text;
}

std::string to_text(const Difference& difference) {
  const auto& [a, b] = difference.sides;
  const auto made_by = [](const Side& side) {
    const auto& solver = side.loaded.file.schedule.claims.solver;
    return solver ? fmt::format(" ({})", answer::clean_text(solver->name)) : std::string();
  };
  std::string text = fmt::format("A: {}{}\nB: {}{}\n", a.loaded.path, made_by(a), b.loaded.path, made_by(b));
  text += figures(difference) + "\n" + order_text(difference);
  if (!difference.schedules.divergence) return text;
  text += divergence_text(difference) + gains(difference, 0) + gains(difference, 1);
  return text + "\n" + device_table(difference) + moves_table(difference);
}

/// The change from `from` to `to` as a JSON number; may be negative.
template <class Amount, class Format>
answer::Json json_change(Amount from, Amount to, Format format) {
  const std::string text = answer::change_text(from, to, format);
  return answer::json_number(text.starts_with('+') ? text.substr(1) : text);
}

answer::Json side_json(const Side& side, base::TimeUnit unit) {
  answer::Json object{{"file", side.loaded.path}};
  const auto& solver = side.loaded.file.schedule.claims.solver;
  object["made_by"] = solver ? answer::Json(solver->name) : answer::Json(nullptr);
  object["notes"] = side.loaded.file.notes;
  object["makespan"] = answer::json_time(side.evaluation.makespan, unit);
  object["peak_activation"] = answer::json_memory(side.evaluation.peak_activation);
  object["bubbles"] = answer::json_ratio(pipeline::bubble_rate(side.evaluation));
  return object;
}

answer::Json device_side_json(const Side& side, std::size_t device, base::TimeUnit unit) {
  answer::Json object{{"peak_activation", answer::json_memory(side.evaluation.devices[device].peak)},
                      {"idle", answer::Json::object()}};
  for (const BarKind cause : timeline::schedule_causes)
    object["idle"][std::string(timeline::name_of(cause))] = answer::json_time(side.idle(device, cause), unit);
  return object;
}

answer::Json placed_json(const Difference& difference, const pipeline::PlacedOp& placed) {
  return {{"op", std::string(1, pipeline::letter_of(placed.op.kind))},
          {"model", placed.op.model.value},
          {"replica", placed.op.replica.value},
          {"stage", placed.op.stage.value},
          {"number", placed.op.microbatch.value},
          {"position", placed.position},
          {"start", answer::json_time(placed.start, difference.unit())}};
}

answer::Json order_json(const Difference& difference, answer::Json object) {
  object["equal"] = !difference.schedules.divergence.has_value();
  object["same_order"] = difference.schedules.same_order;
  object["parting"] = answer::Json(nullptr);
  if (const auto& divergence = difference.schedules.divergence) {
    object["parting"] =
        answer::Json{{"device", divergence->device.value},
                     {"a", divergence->a ? placed_json(difference, *divergence->a) : answer::Json(nullptr)},
                     {"b", divergence->b ? placed_json(difference, *divergence->b) : answer::Json(nullptr)}};
  }
  object["moves"] = answer::Json::array();
  for (const pipeline::Move& move : difference.schedules.moves) {
    object["moves"].push_back({{"device", move.device.value},
                               {"a", placed_json(difference, move.a)},
                               {"b", placed_json(difference, move.b)}});
  }
  return object;
}

answer::Json diff_json(const Difference& difference, double seconds) {
  const base::TimeUnit unit = difference.unit();
  const auto& [a, b] = difference.sides;
  answer::Json object{{"format", "dovetail/diff@1"},
                      {"time_unit", base::name_of(unit)},
                      {"a", side_json(a, unit)},
                      {"b", side_json(b, unit)}};
  object["change"] =
      answer::Json{{"makespan", json_change(a.evaluation.makespan, b.evaluation.makespan,
                                            [unit](base::Ticks time) { return base::format_time(time, unit); })},
                   {"peak_activation",
                    json_change(a.evaluation.peak_activation, b.evaluation.peak_activation, base::format_memory)}};
  object = order_json(difference, std::move(object));
  object["devices"] = answer::Json::array();
  for (std::size_t device = 0; device < difference.devices(); ++device) {
    const pipeline::DeviceDifference& order = difference.schedules.devices[device];
    object["devices"].push_back({{"device", device},
                                 {"busy", answer::json_time(a.evaluation.devices[device].busy, unit)},
                                 {"matched", order.matched},
                                 {"moved", order.moved},
                                 {"only_in_a", order.only_in_a},
                                 {"only_in_b", order.only_in_b},
                                 {"a", device_side_json(a, device, unit)},
                                 {"b", device_side_json(b, device, unit)}});
  }
  object["timing"] = answer::Json{{"seconds", answer::json_seconds(seconds)}};
  return object;
}

base::Result<int> run_diff(const DiffArguments& arguments) {
  constexpr std::size_t max_moves = 100;
  const auto begin = std::chrono::steady_clock::now();
  DOVETAIL_TRY(auto loaded, load_both(arguments));
  Difference difference{{make_side(std::move(loaded[0])), make_side(std::move(loaded[1]))}, {}};
  difference.schedules = pipeline::diff_schedules(difference.sides[0].loaded.file.schedule,
                                                  difference.sides[1].loaded.file.schedule, max_moves);
  const double seconds = base::seconds_since(begin);
  if (arguments.json) {
    print_json(answer::json_text(diff_json(difference, seconds)));
  } else {
    if (arguments.gantt == "always" || (arguments.gantt == "auto" && stdout_is_terminal()))
      print_drawn(charts(difference, arguments));
    print(to_text(difference));
  }
  return exit_done;
}

}  // namespace

void add_diff(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App* command = add_command(program, "diff", "compare two schedules of the same problem",
                                  "  dovetail schedule exp5 --solver greedy -o greedy.json\n  dovetail schedule exp5 "
                                  "--solver list -o list.json\n  dovetail diff greedy.json list.json");
  add_positional(*command, "A", arguments->files[0],
                 "first schedule: JSON, FlexFusion trace, PyTorch CSV, '-' for stdin");
  add_positional(*command, "B", arguments->files[1], "second schedule");
  add_problem_option(*command, arguments->problem, "problem of both schedules (default: the one in the files)");
  add_text_option(*command, "--format", arguments->format, answer::read_formats,
                  "format of both files (default: detected from their content)");
  add_choice_option(*command, "--gantt", arguments->gantt, "always|never|auto",
                    "draw both schedules (default: auto, on a terminal)");
  add_color_option(*command, arguments->color);
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_diff(*arguments); });
}

}  // namespace dovetail::cli
