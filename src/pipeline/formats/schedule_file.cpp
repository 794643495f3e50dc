#include "pipeline/formats/schedule_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <utility>

#include "base/document.h"
#include "base/fields.h"
#include "base/utf8.h"
#include "pipeline/problem/problem_file.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::pipeline {
namespace {

using base::FilePlace;
using base::Node;
using base::quote;
using base::Result;
using base::Status;

/// Columns of a row, in the order in which they are written.
enum Column : std::size_t { op, model, replica, stage, microbatch, start, end, column_count };
constexpr std::array<std::string_view, column_count> quoted_columns = {
    "`op`", "`model`", "`replica`", "`stage`", "`microbatch`", "`start`", "`end`"};
using ColumnPlaces = std::array<std::size_t, column_count>;  ///< [column] index in a row

Result<Ticks> read_time(const Node& node, std::string_view what, TimeUnit unit) {
  if (!node.is_number())
    return node.error(
        fmt::format("{} is {}; accepted: a number (unit: {})", what, node.describe(), base::name_of(unit)));
  const Result<Ticks> time = base::parse_time(node.text(), unit, base::ExcessDigits::refuse, max_sum);
  if (!time.ok()) return node.error(fmt::format("{}: {} {}", what, node.describe(), time.error().message));
  return *time;
}

Result<Memory> read_amount(const Node& node, std::string_view what) {
  if (!node.is_number()) return node.error(fmt::format("{} is {}; accepted: a number", what, node.describe()));
  const Result<Memory> amount = base::parse_memory(node.text(), max_sum);
  if (!amount.ok()) return node.error(fmt::format("{}: {} {}", what, node.describe(), amount.error().message));
  return *amount;
}

Result<bool> read_boolean(const Node& node, std::string_view what) {
  if (!node.is_boolean()) return node.error(fmt::format("{} is {}; accepted: true or false", what, node.describe()));
  return node.text() == "true";
}

Result<std::uint64_t> read_seed(const Node& node) {
  std::uint64_t seed = 0;
  const std::string_view text = node.is_number() ? node.text() : std::string_view();
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (text.empty() || code != std::errc() || rest != text.data() + text.size()) {
    return node.error(fmt::format("`seed` is {}; accepted: an integer from 0 to {}", node.describe(),
                                  std::numeric_limits<std::uint64_t>::max()));
  }
  return seed;
}

FilePlace place_of(const Node& node) { return {.line = node.line(), .column = node.column()}; }

Result<Problem> read_own_problem(const Node& root) {
  DOVETAIL_TRY(const Node problem_node, base::require(root, "the schedule", "problem"));
  DOVETAIL_TRY(Problem problem, read_problem(problem_node));
  DOVETAIL_TRY(const Node unit, base::require(root, "the schedule", "time_unit"));
  if (!unit.is_string() || unit.text() != base::name_of(problem.time_unit)) {
    return unit.error(fmt::format("`time_unit` of the schedule is {}; accepted: {} (as in its problem)",
                                  unit.describe(), quote(base::name_of(problem.time_unit))));
  }
  return problem;
}

Result<ColumnPlaces> read_columns(const Node& root) {
  DOVETAIL_TRY(const Node columns, base::require(root, "the schedule", "columns"));
  const std::string accepted = fmt::format("accepted: {}, each once, in any order", fmt::join(quoted_columns, ", "));
  if (!columns.is_list() || columns.size() != column_count) {
    return columns.error(
        fmt::format("`columns` is {}; {}",
                    columns.is_list() ? fmt::format("a list of {}", columns.size()) : columns.describe(), accepted));
  }
  ColumnPlaces places;
  places.fill(column_count);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Node name = columns.item(i);
    const auto found = name.is_string() ? std::find(quoted_columns.begin(), quoted_columns.end(), quote(name.text()))
                                        : quoted_columns.end();
    if (found == quoted_columns.end()) return name.error(fmt::format("a column is {}; {}", name.describe(), accepted));
    std::size_t& place = places[static_cast<std::size_t>(found - quoted_columns.begin())];
    if (place != column_count)
      return name.error(fmt::format("{} appears twice in `columns`; {}", quote(name.text()), accepted));
    place = i;
  }
  return places;
}

/// Reads the rows of a file.
class RowReader {
 public:
  RowReader(TimeUnit unit, const ColumnPlaces& columns) : unit_(unit), columns_(columns) {}

  Result<ScheduledOp> read(const Node& row) const {
    if (!row.is_list() || row.size() != column_count) {
      return row.error(fmt::format("an op is {}; accepted: a list of {} values, one per column",
                                   row.is_list() ? fmt::format("a list of {}", row.size()) : row.describe(),
                                   std::size_t{column_count}));
    }
    ScheduledOp scheduled;
    OpLabel& label = scheduled.label;
    DOVETAIL_TRY(label.kind, read_kind(cell(row, Column::op)));
    DOVETAIL_TRY(label.model.value, read_index(row, Column::model));
    DOVETAIL_TRY(label.replica.value, read_index(row, Column::replica));
    DOVETAIL_TRY(label.stage.value, read_index(row, Column::stage));
    DOVETAIL_TRY(label.microbatch.value, read_index(row, Column::microbatch));
    DOVETAIL_TRY(scheduled.start, read_time(cell(row, Column::start), quoted_columns[Column::start], unit_));
    DOVETAIL_TRY(scheduled.end, read_time(cell(row, Column::end), quoted_columns[Column::end], unit_));
    if (scheduled.end < scheduled.start) {
      return cell(row, Column::end)
          .error(fmt::format("`end` {} is before `start` {}; accepted: `start` or later", cell(row, Column::end).text(),
                             cell(row, Column::start).text()));
    }
    return scheduled;
  }

 private:
  Node cell(const Node& row, Column column) const { return row.item(columns_[column]); }

  static Result<OpKind> read_kind(const Node& node) {
    if (node.is_string())
      if (const auto kind = op_kind_of(node.text())) return *kind;
    return node.error(fmt::format("`op` is {}; accepted: {}", node.describe(), op_letters(", ")));
  }

  Result<std::int32_t> read_index(const Node& row, Column column) const {
    DOVETAIL_TRY(const std::int64_t index, base::read_integer(cell(row, column), quoted_columns[column], 0,
                                                              std::numeric_limits<std::int32_t>::max()));
    return static_cast<std::int32_t>(index);
  }

  TimeUnit unit_;
  ColumnPlaces columns_;
};

Status read_device_lists(const Node& root, ScheduleFile& file) {
  const Problem& problem = file.schedule.problem;
  DOVETAIL_TRY(const ColumnPlaces columns, read_columns(root));
  DOVETAIL_TRY(const Node devices, base::require(root, "the schedule", "devices"));
  const auto count = static_cast<std::size_t>(problem.devices);
  if (!devices.is_list() || devices.size() != count) {
    return devices.error(fmt::format(
        "`devices` of the schedule is {}; accepted: a list of {} lists of ops, one per device of the problem",
        devices.is_list() ? fmt::format("a list of {}", devices.size()) : devices.describe(), count));
  }
  const RowReader reader(problem.time_unit, columns);
  file.schedule.devices.resize(count);
  file.places.resize(count);
  file.devices_place = place_of(devices);
  for (std::size_t device = 0; device < count; ++device) {
    const Node rows = devices.item(device);
    if (!rows.is_list())
      return rows.error(
          fmt::format("device {} of the schedule is {}; accepted: a list of ops", device, rows.describe()));
    file.device_places.push_back(place_of(rows));
    file.schedule.devices[device].reserve(rows.size());
    file.places[device].reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      DOVETAIL_TRY(const ScheduledOp scheduled, reader.read(rows.item(i)));
      file.schedule.devices[device].push_back(scheduled);
      file.places[device].push_back(place_of(rows.item(i)));
    }
  }
  return {};
}

Result<SolverRecord> read_solver(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "`solver`", {"name", "seed", "chains", "iterations"}));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  SolverRecord solver;
  DOVETAIL_TRY(const Node name, base::require(node, "`solver`", "name"));
  if (!name.is_string() || name.text().empty()) {
    return name.error(fmt::format("`name` of `solver` is {}; accepted: a non-empty string", name.describe()));
  }
  solver.name = name.text();
  if (const auto seed = node.find("seed")) {
    DOVETAIL_TRY(solver.seed, read_seed(*seed));
  }
  if (const auto chains = node.find("chains")) {
    DOVETAIL_TRY(solver.chains, base::read_integer(*chains, "`chains`", 1, most));
  }
  if (const auto iterations = node.find("iterations")) {
    DOVETAIL_TRY(solver.iterations, base::read_integer(*iterations, "`iterations`", 0, most));
  }
  return solver;
}

Status read_bounds(const Node& node, TimeUnit unit, Claims& claims) {
  DOVETAIL_CHECK(base::check_keys(node, "`bounds`", {"makespan", "peak_activation"}));
  if (const auto makespan = node.find("makespan")) {
    DOVETAIL_TRY(claims.bound_makespan, read_time(*makespan, "`makespan` of `bounds`", unit));
  }
  if (const auto peak = node.find("peak_activation")) {
    DOVETAIL_TRY(claims.bound_peak_activation, read_amount(*peak, "`peak_activation` of `bounds`"));
  }
  return {};
}

Status read_optimal(const Node& node, Claims& claims) {
  DOVETAIL_CHECK(base::check_keys(node, "`optimal`", {"makespan", "peak_activation"}));
  if (const auto makespan = node.find("makespan")) {
    DOVETAIL_TRY(claims.optimal_makespan, read_boolean(*makespan, "`makespan` of `optimal`"));
  }
  if (const auto peak = node.find("peak_activation")) {
    DOVETAIL_TRY(claims.optimal_peak_activation, read_boolean(*peak, "`peak_activation` of `optimal`"));
  }
  return {};
}

Result<StoppedBy> read_stopped_by(const Node& node) {
  const std::optional<StoppedBy> named = node.is_string() ? stopped_by_named(node.text()) : std::nullopt;
  if (!named)
    return node.error(fmt::format("`stopped_by` is {}; accepted: bound, iterations, time, interrupt", node.describe()));
  return *named;
}

Status read_claims(const Node& root, ScheduleFile& file) {
  const TimeUnit unit = file.schedule.problem.time_unit;
  Claims& claims = file.schedule.claims;
  if (const auto makespan = root.find("makespan")) {
    file.makespan_place = place_of(*makespan);
    DOVETAIL_TRY(claims.makespan, read_time(*makespan, "`makespan`", unit));
  }
  if (const auto peak = root.find("peak_activation")) {
    file.peak_activation_place = place_of(*peak);
    DOVETAIL_TRY(claims.peak_activation, read_amount(*peak, "`peak_activation`"));
  }
  if (const auto bounds = root.find("bounds")) DOVETAIL_CHECK(read_bounds(*bounds, unit, claims));
  if (const auto optimal = root.find("optimal")) DOVETAIL_CHECK(read_optimal(*optimal, claims));
  if (const auto solver = root.find("solver")) {
    DOVETAIL_TRY(claims.solver, read_solver(*solver));
  }
  if (const auto stopped_by = root.find("stopped_by")) {
    DOVETAIL_TRY(claims.stopped_by, read_stopped_by(*stopped_by));
  }
  return {};
}

}  // namespace

FilePlace place_of(const ScheduleFile& file, const Violation& violation) {
  if (violation.rule == Rule::false_makespan) return file.makespan_place;
  if (violation.rule == Rule::false_peak) return file.peak_activation_place;
  if (!violation.device) return file.devices_place;
  if (violation.row) return file.places.at(*violation.device).at(*violation.row);
  // A separately specified problem may have more devices than the file.
  const bool known =
      *violation.device < file.device_places.size() && file.device_places[*violation.device] != FilePlace();
  return known ? file.device_places[*violation.device] : file.devices_place;
}

Result<ScheduleFile> parse_schedule(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_json(content, path));
  const Node root = document.root();
  DOVETAIL_CHECK(base::require_format(root, "the schedule", schedule_format));
  DOVETAIL_CHECK(base::check_keys(root, "the schedule",
                                  {"format", "time_unit", "problem", "makespan", "peak_activation", "bounds", "optimal",
                                   "solver", "stopped_by", "columns", "devices"}));
  ScheduleFile file;
  DOVETAIL_TRY(file.schedule.problem, read_own_problem(root));
  DOVETAIL_CHECK(read_claims(root, file));
  DOVETAIL_CHECK(read_device_lists(root, file));
  return file;
}

namespace {

using base::JsonObject;

std::string_view boolean_text(bool value) { return value ? "true" : "false"; }

std::string solver_text(const SolverRecord& solver) {
  JsonObject text;
  text.add("name", base::json_string(solver.name));
  if (solver.seed) text.add("seed", std::to_string(*solver.seed));
  if (solver.chains) text.add("chains", std::to_string(*solver.chains));
  if (solver.iterations) text.add("iterations", std::to_string(*solver.iterations));
  return text.text();
}

/// Returns the claims as members of a JSON object.
std::string claims_text(const Claims& claims, TimeUnit unit) {
  JsonObject bounds;
  if (claims.bound_makespan) bounds.add("makespan", base::format_time(*claims.bound_makespan, unit));
  if (claims.bound_peak_activation) bounds.add("peak_activation", base::format_memory(*claims.bound_peak_activation));
  JsonObject optimal;
  if (claims.optimal_makespan) optimal.add("makespan", boolean_text(*claims.optimal_makespan));
  if (claims.optimal_peak_activation) optimal.add("peak_activation", boolean_text(*claims.optimal_peak_activation));

  JsonObject text;
  if (claims.makespan) text.add("makespan", base::format_time(*claims.makespan, unit));
  if (claims.peak_activation) text.add("peak_activation", base::format_memory(*claims.peak_activation));
  if (!bounds.empty()) text.add("bounds", bounds.text());
  if (!optimal.empty()) text.add("optimal", optimal.text());
  if (claims.solver) text.add("solver", solver_text(*claims.solver));
  if (claims.stopped_by) text.add("stopped_by", fmt::format("\"{}\"", name_of(*claims.stopped_by)));
  return text.members();
}

void append_op(std::string& text, const ScheduledOp& scheduled, TimeUnit unit) {
  const OpLabel& label = scheduled.label;
  fmt::format_to(std::back_inserter(text), "[\"{}\", {}, {}, {}, {}, {}, {}]", letter_of(label.kind), label.model.value,
                 label.replica.value, label.stage.value, label.microbatch.value,
                 base::format_time(scheduled.start, unit), base::format_time(scheduled.end, unit));
}

}  // namespace

std::string schedule_to_json(const Schedule& schedule) {
  const TimeUnit unit = schedule.problem.time_unit;
  std::string text = fmt::format("{{\"format\": \"{}\", \"time_unit\": \"{}\",\n \"problem\": {},\n", schedule_format,
                                 base::name_of(unit), problem_to_json(schedule.problem, 1));
  if (const std::string claims = claims_text(schedule.claims, unit); !claims.empty())
    text += fmt::format(" {},\n", claims);
  text +=
      " \"columns\": [\"op\", \"model\", \"replica\", \"stage\", \"microbatch\", \"start\", \"end\"],\n \"devices\": [";
  std::string_view device_separator = "\n  [";
  for (const auto& device : schedule.devices) {
    text += std::exchange(device_separator, ",\n  [");
    std::string_view op_separator = "";
    for (const ScheduledOp& scheduled : device) {
      text += std::exchange(op_separator, ", ");
      append_op(text, scheduled, unit);
    }
    text += ']';
  }
  return text + "\n ]}\n";
}

}  // namespace dovetail::pipeline
