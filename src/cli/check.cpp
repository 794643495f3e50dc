// dovetail check: validates a schedule and shows its cost and idle time by device.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <tuple>

#include "answer/question/json.h"
#include "answer/schedules/input_files.h"
#include "answer/schedules/programs.h"
#include "answer/text/figures.h"
#include "base/stopwatch.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/question_progress.h"
#include "fuse/bounds/bounds.h"
#include "pipeline/schedule/evaluate.h"
#include "report/page/summary.h"
#include "report/text/table.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::cli {
namespace {

using timeline::BarKind;

struct CheckArguments {
  std::string file;
  std::optional<answer::Input> problem;
  std::optional<std::string> format;
  bool json = false;
};

/// Results for a valid schedule.
struct Checked {
  answer::LoadedSchedule loaded;
  pipeline::Evaluation evaluation;
  timeline::Timeline timeline;
  fuse::Bounds bounds;
  base::Memory peak_bound;  ///< at the schedule's makespan
  std::vector<fuse::DisputedClaim> claims;

  const pipeline::Problem& problem() const { return loaded.file.schedule.problem; }
  /// Whether any claim in the file about the schedule is false.
  bool has_false_claim() const {
    return std::any_of(claims.begin(), claims.end(), [](const fuse::DisputedClaim& claim) { return claim.refuted; });
  }
};

constexpr std::size_t idle_stretches_shown = 5;

/// An idle bar, identified by its device and its index among all bars.
struct IdleStretch {
  std::size_t device;
  std::size_t bar;
};

/// "B4 of actor, stage 2 on device 2", or empty if the device waits for no op.
std::string describe_awaited(const Checked& checked, const timeline::Bar& idle) {
  if (idle.awaits < 0) return {};
  const auto awaited = static_cast<std::size_t>(idle.awaits);
  return fmt::format("{} on device {}", timeline::describe(checked.timeline, checked.timeline.bars[awaited]),
                     timeline::lane_of(timeline::first_bars(checked.timeline), awaited));
}

/// Returns all idle bars, ordered by device and time.
std::vector<IdleStretch> idle_stretches(const Checked& checked) {
  std::vector<IdleStretch> stretches;
  std::size_t bar = 0;
  for (std::size_t device = 0; device < checked.timeline.lanes.size(); ++device) {
    for (std::size_t end = bar + checked.timeline.lanes[device].bars; bar < end; ++bar) {
      if (timeline::is_idle(checked.timeline.bars[bar].bar_kind)) stretches.push_back({device, bar});
    }
  }
  return stretches;
}

const timeline::Bar& bar_of(const Checked& checked, const IdleStretch& stretch) {
  return checked.timeline.bars[stretch.bar];
}

double share(base::Ticks part, base::Ticks whole) {
  return whole.count() == 0 ? 0.0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

std::string device_table(const Checked& checked) {
  const base::TimeUnit unit = checked.problem().time_unit;
  std::vector<report::Column> columns{{"device"}, {"busy"}, {"bubbles"}, {"peak"}};
  for (const BarKind cause : timeline::schedule_causes) columns.push_back({std::string(timeline::name_of(cause))});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t device = 0; device < checked.timeline.lanes.size(); ++device) {
    const pipeline::DeviceUse& use = checked.evaluation.devices[device];
    const timeline::TimeByBarKind time = timeline::time_by_bar_kind(timeline::bars_of(checked.timeline, device));
    rows.push_back({fmt::format("{}", device), base::format_time(use.busy, unit),
                    answer::percent(1.0 - share(use.busy, checked.evaluation.makespan)),
                    base::format_memory(use.peak)});
    for (const BarKind cause : timeline::schedule_causes)
      rows.back().push_back(base::format_time(time[index_of(cause)], unit));
  }
  return report::render_table(columns, rows);
}

std::string max_idle_table(const Checked& checked) {
  const base::TimeUnit unit = checked.problem().time_unit;
  const auto length = [&checked](const IdleStretch& stretch) {
    const timeline::Bar& bar = bar_of(checked, stretch);
    return bar.end - bar.begin;
  };
  std::vector<IdleStretch> stretches = idle_stretches(checked);
  // Idle time after the last op delays no op.
  std::erase_if(stretches,
                [&checked](const IdleStretch& stretch) { return bar_of(checked, stretch).bar_kind == BarKind::drain; });
  const auto shown = std::min(stretches.size(), idle_stretches_shown);
  // Stretches of equal length stay ordered by device and time.
  const auto is_before = [&length](const IdleStretch& a, const IdleStretch& b) {
    return std::tuple(length(b), a.bar) < std::tuple(length(a), b.bar);
  };
  std::partial_sort(stretches.begin(), stretches.begin() + static_cast<std::ptrdiff_t>(shown), stretches.end(),
                    is_before);
  stretches.resize(shown);
  if (stretches.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const IdleStretch& stretch : stretches) {
    const timeline::Bar& bar = bar_of(checked, stretch);
    rows.push_back({fmt::format("{}", stretch.device), base::format_time(bar.begin, unit),
                    base::format_time(bar.end, unit), base::format_time(length(stretch), unit),
                    std::string(timeline::name_of(bar.bar_kind)), describe_awaited(checked, bar)});
  }
  return "\nlongest idle stretches before an op:\n" +
         report::render_table(
             {{"device"}, {"from"}, {"to"}, {"time"}, {"cause", report::Align::left}, {"awaits", report::Align::left}},
             rows);
}

/// One line per claim: "false claim: bounds.makespan: 610 is above ...".
std::string claims_text(const Checked& checked) {
  std::string text;
  for (const fuse::DisputedClaim& claim : checked.claims)
    text += fmt::format("{}: {}: {}\n", claim.refuted ? "false claim" : "claim not confirmed", claim.key, claim.reason);
  return text;
}

std::string to_text(const Checked& checked) {
  const base::TimeUnit unit = checked.problem().time_unit;
  const pipeline::Evaluation& evaluation = checked.evaluation;
  return fmt::format("{}: valid{}\n", checked.loaded.path,
                     checked.has_false_claim() ? ", but a claim in the file is false" : "") +
         fmt::format("makespan {}, bound {}, {}\n", answer::time_with_unit(evaluation.makespan, unit),
                     base::format_time(checked.bounds.makespan, unit),
                     answer::gap_text(answer::gap(evaluation.makespan, checked.bounds.makespan))) +
         fmt::format("peak activation {}, bound {} at this makespan, {}\n",
                     base::format_memory(evaluation.peak_activation), base::format_memory(checked.peak_bound),
                     answer::gap_text(answer::gap(evaluation.peak_activation, checked.peak_bound))) +
         claims_text(checked) +
         fmt::format("bubbles {} of device time; longest device span, from first start to last end: {}\n\n",
                     answer::percent(pipeline::bubble_rate(evaluation)),
                     answer::time_with_unit(pipeline::max_device_span(evaluation), unit)) +
         device_table(checked) + max_idle_table(checked);
}

answer::Json device_json(const Checked& checked, std::size_t device) {
  const base::TimeUnit unit = checked.problem().time_unit;
  const pipeline::DeviceUse& use = checked.evaluation.devices[device];
  const timeline::TimeByBarKind time = timeline::time_by_bar_kind(timeline::bars_of(checked.timeline, device));
  answer::Json object{{"device", device},
                      {"busy", answer::json_time(use.busy, unit)},
                      {"first_start", answer::json_time(use.first_start, unit)},
                      {"last_end", answer::json_time(use.last_end, unit)},
                      {"bubbles", answer::json_ratio(1.0 - share(use.busy, checked.evaluation.makespan))},
                      {"peak_activation", answer::json_memory(use.peak)},
                      {"idle", answer::Json::object()}};
  for (const BarKind cause : timeline::schedule_causes) {
    object["idle"][std::string(timeline::name_of(cause))] = answer::json_time(time[index_of(cause)], unit);
  }
  return object;
}

answer::Json check_json(const Checked& checked, double seconds) {
  const base::TimeUnit unit = checked.problem().time_unit;
  answer::Json object{{"format", "dovetail/check@1"},
                      {"file", checked.loaded.path},
                      {"valid", true},
                      {"notes", checked.loaded.file.notes},
                      {"time_unit", base::name_of(unit)},
                      {"makespan", answer::json_time(checked.evaluation.makespan, unit)},
                      {"peak_activation", answer::json_memory(checked.evaluation.peak_activation)},
                      {"bounds", answer::Json{{"makespan", answer::json_time(checked.bounds.makespan, unit)},
                                              {"peak_activation", answer::json_memory(checked.peak_bound)}}},
                      {"bubbles", answer::json_ratio(pipeline::bubble_rate(checked.evaluation))},
                      {"longest_device_span", answer::json_time(pipeline::max_device_span(checked.evaluation), unit)},
                      {"devices", answer::Json::array()},
                      {"idle", answer::Json::array()}};
  for (std::size_t device = 0; device < checked.timeline.lanes.size(); ++device)
    object["devices"].push_back(device_json(checked, device));
  for (const IdleStretch& stretch : idle_stretches(checked)) {
    const timeline::Bar& bar = bar_of(checked, stretch);
    answer::Json entry{{"device", stretch.device},
                       {"start", answer::json_time(bar.begin, unit)},
                       {"end", answer::json_time(bar.end, unit)},
                       {"cause", timeline::name_of(bar.bar_kind)}};
    if (const std::string awaited = describe_awaited(checked, bar); !awaited.empty()) entry["awaits"] = awaited;
    object["idle"].push_back(std::move(entry));
  }
  for (const fuse::DisputedClaim& claim : checked.claims)
    object["claims"].push_back(
        {{"key", claim.key}, {"verdict", claim.refuted ? "false" : "not confirmed"}, {"reason", claim.reason}});
  object["timing"] = answer::Json{{"seconds", answer::json_seconds(seconds)}};
  return object;
}

/// With --json, prints the answer for an invalid schedule, too. The Error still goes to stderr.
base::Error report_invalid(const CheckArguments& arguments, base::Error error) {
  if (!arguments.json || error.failure != base::Failure::invalid) return error;
  answer::Json violation{{"message", error.message}};
  if (error.line > 0) violation["line"] = error.line;
  if (error.column > 0) violation["column"] = error.column;
  print_json(answer::json_text(
      answer::Json{{"format", "dovetail/check@1"}, {"file", error.path}, {"valid", false}, {"violation", violation}}));
  return error;
}

/// Checks the rank programs in a folder.
base::Result<int> run_check_programs(const CheckArguments& arguments) {
  if (arguments.problem || arguments.format)
    return base::bad_input(
        fmt::format("--problem and --format need a schedule file, but '{}' is a folder of programs", arguments.file));
  DOVETAIL_TRY(const std::vector<pipeline::Program> programs, answer::load_programs(arguments.file));
  if (arguments.json)
    print_json(answer::json_text(answer::programs_json(arguments.file, programs)));
  else
    print(report::text_of(answer::program_sections(arguments.file, programs)));
  return exit_done;
}

base::Result<int> run_check(const CheckArguments& arguments) {
  DOVETAIL_TRY(const auto forced, answer::format_to_read(arguments.format));
  if (std::error_code ignored; std::filesystem::is_directory(arguments.file, ignored))
    return run_check_programs(arguments);
  const auto begin = std::chrono::steady_clock::now();
  auto loaded = answer::load_valid_schedule({arguments.file}, forced, arguments.problem, note_callbacks());
  if (!loaded.ok()) return report_invalid(arguments, std::move(loaded).error());

  Checked checked;
  checked.loaded = std::move(*loaded);
  pipeline::LoweredSchedule lowered = pipeline::evaluate(checked.loaded.file.schedule);
  checked.timeline = timeline::schedule_timeline(checked.problem(), lowered, checked.loaded.path);
  checked.evaluation = std::move(lowered.evaluation);
  checked.bounds = fuse::bounds_of(checked.problem());
  checked.peak_bound = fuse::peak_activation_bound(checked.problem(), checked.evaluation.makespan);
  checked.claims =
      fuse::check_claims(checked.loaded.file.schedule, checked.evaluation, checked.bounds.makespan, checked.peak_bound);
  const double seconds = base::seconds_since(begin);
  if (arguments.json) {
    print_json(answer::json_text(check_json(checked, seconds)));
  } else {
    print(to_text(checked));
  }
  return checked.has_false_claim() ? exit_invalid : exit_done;
}

}  // namespace

void add_check(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = add_command(program, "check", "check a schedule and show its cost by device",
                                  "  dovetail schedule exp5 --solver greedy -o schedule.json\n"
                                  "  dovetail check schedule.json\n"
                                  "  dovetail convert schedule.json programs/\n"
                                  "  dovetail check programs/");
  add_positional(*command, "FILE", arguments->file, "schedule file ('-' for stdin), or a folder of programs");
  add_problem_option(*command, arguments->problem, "problem of the schedule (default: the one in the file)");
  add_text_option(*command, "--format", arguments->format, answer::read_formats,
                  "format of FILE (default: detected from its content)");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run_check(*arguments); });
}

}  // namespace dovetail::cli
