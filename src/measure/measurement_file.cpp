#include "measure/measurement_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/enum_names.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cost/efficiency.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "predict/closed_form/software.h"
#include "workflow/log_normal.h"

namespace dovetail::measure {
namespace {

using base::Node;
using base::quote;
using base::Result;
using base::Status;

constexpr double min_phase_seconds = 1e-3;
constexpr double max_phase_seconds = 1e7;
constexpr double max_weight = 1000;
constexpr double min_sigma = 0.01;

/// Reads the file that `node` names. Errors have the location of `node`.
Result<std::string> read_named_file(const Node& node, const std::string& path) {
  auto content = base::read_file(path);
  if (content.ok()) return content;
  base::Error error = node.error(base::to_text(content.error()));
  error.failure = content.error().failure;
  return error;
}

/// Finds a set of efficiencies by name, or reads it from a file.
Result<cost::Efficiency> find_start(const Node& node, const std::filesystem::path& folder) {
  if (!node.is_string())
    return node.error(fmt::format("a set of efficiencies must be a name or a path, not {}", node.describe()));
  const std::string name(node.text());
  if (!name.ends_with(".json") && !name.ends_with(".yaml") && !name.ends_with(".yml")) {
    auto bundled = cost::find_efficiency(name);
    return bundled.ok() ? bundled : node.error(bundled.error().message);
  }
  const std::string path = (folder / name).lexically_normal().string();
  DOVETAIL_TRY(const std::string content, read_named_file(node, path));
  return cost::parse_efficiency(content, path);
}

Result<cost::Efficiency> read_start(const Node& root, const std::filesystem::path& folder) {
  const auto node = root.find("start");
  if (!node) return cost::Efficiency{};
  if (!node->is_map()) return find_start(*node, folder);
  cost::Efficiency start;
  if (const auto from = node->find("from")) {
    DOVETAIL_TRY(start, find_start(*from, folder));
  }
  DOVETAIL_CHECK(cost::read_constants(*node, "`start`", {"from"}, start));
  return start;
}

/// Reads the constants to fit. Each must start within its bounds.
Result<std::vector<std::string>> read_fitted(const Node& root, cost::Efficiency start) {
  std::vector<std::string> fitted;
  const auto list = root.find("fit");
  if (!list) return fitted;
  if (!list->is_list() || list->size() == 0)
    return list->error(fmt::format("`fit` must be a non-empty list of constants, got {}",
                                   list->is_list() ? "an empty list" : list->describe()));
  std::vector<std::string_view> names;
  for (const cost::EfficiencyConstant& constant : cost::efficiency_constants()) names.push_back(constant.name);
  for (std::size_t item = 0; item < list->size(); ++item) {
    const Node node = list->item(item);
    const cost::EfficiencyConstant* constant = node.is_string() ? cost::find_constant(node.text()) : nullptr;
    if (constant == nullptr)
      return node.error(fmt::format("a constant must be one of {2}, not {0}{1}", node.describe(),
                                    node.is_string() ? base::did_you_mean(node.text(), names) : "",
                                    fmt::join(names, ", ")));
    const double value = constant->of(start);
    if (value < constant->low || value > constant->high)
      return node.error(fmt::format("{} starts at {}; its `start` must be from {} to {}", quote(constant->name), value,
                                    constant->low, constant->high));
    if (std::find(fitted.begin(), fitted.end(), constant->name) != fitted.end())
      return node.error(fmt::format("duplicate constant {} in `fit`; list each constant once", quote(constant->name)));
    fitted.emplace_back(constant->name);
  }
  return fitted;
}

Result<Spread> read_spread(const Node& root) {
  Spread spread;
  const auto node = root.find("spread");
  if (!node) return spread;
  DOVETAIL_CHECK(base::check_keys(*node, "`spread`", {"start", "low", "high"}));
  for (const auto& [key, member] :
       {std::pair{"start", &Spread::start}, {"low", &Spread::low}, {"high", &Spread::high}}) {
    const auto value = node->find(key);
    if (!value) continue;
    DOVETAIL_TRY(spread.*member, base::read_number(*value, quote(key), min_sigma, workflow::max_sigma));
  }
  if (spread.low <= spread.start && spread.start <= spread.high) return spread;
  return node->error(fmt::format("`spread` must have low <= start <= high, got start {}, low {}, high {}", spread.start,
                                 spread.low, spread.high));
}

/// Reads the rows, which must all have one GPU type.
class RowReader {
 public:
  RowReader(const Measurements& measurements, const std::string& path)
      : path_(path), folder_(std::filesystem::path(path).parent_path()), spread_(measurements.spread) {}

  Result<Measurement> read(const Node& node) {
    DOVETAIL_CHECK(base::check_keys(
        node, "a row",
        {"name", "group", "job", "plan", "seconds", "fused", "phases", "response_length", "weight", "doubtful"}));
    DOVETAIL_TRY(const Node named, base::require(node, "a row", "name", "name: 8B, on policy"));
    DOVETAIL_TRY(std::string name, base::find_name(node, "name"));
    if (std::find(names_.begin(), names_.end(), name) != names_.end())
      return named.error(fmt::format("duplicate row name {}; row names must be unique", quote(name)));
    names_.push_back(name);
    DOVETAIL_TRY(std::string group, base::find_name(node, "group"));
    DOVETAIL_TRY(plan::Job job, read_job(node));
    DOVETAIL_TRY(plan::Plan plan, read_plan(node, job));
    if (group.empty()) group = job.models.front().name;
    Measurement row{std::move(name), std::move(group), std::move(job), std::move(plan)};
    DOVETAIL_TRY(const Node seconds, base::require(node, "a row", "seconds", "seconds: 97.7"));
    DOVETAIL_TRY(row.seconds, base::read_number(seconds, "`seconds`", min_phase_seconds, max_phase_seconds));
    DOVETAIL_CHECK(read_weight(node, row));
    DOVETAIL_CHECK(check_fused(node, row));
    DOVETAIL_CHECK(read_phases(node, row));
    DOVETAIL_CHECK(read_responses(node, row));
    return row;
  }

 private:
  Result<plan::Job> read_job(const Node& row) {
    DOVETAIL_TRY(const Node node, base::require(row, "a row", "job", "job: ../jobs/grpo-8b.yaml"));
    DOVETAIL_TRY(plan::Job job, job_of(node));
    const auto conventions = predict::conventions_of(job.software);
    if (!conventions.ok()) return node.error(conventions.error().message);
    for (const cluster::NodeGroup& group : job.cluster.groups) {
      if (gpu_.empty()) gpu_ = group.gpu.name;
      if (group.gpu.name != gpu_)
        return node.error(fmt::format("the rows have GPU types {} and {}; all rows must have the same GPU type",
                                      quote(gpu_), quote(group.gpu.name)));
    }
    return job;
  }

  Result<plan::Job> job_of(const Node& node) const {
    if (!node.is_string()) return plan::read_job(node, path_);
    const std::string path = path_of(node);
    DOVETAIL_TRY(const std::string content, read_named_file(node, path));
    return plan::parse_job(content, path);
  }

  Result<plan::Plan> read_plan(const Node& row, const plan::Job& job) const {
    DOVETAIL_TRY(const Node node, base::require(row, "a row", "plan", "plan: ../jobs/grpo-8b.plan.json"));
    if (!node.is_string()) return plan::read_plan(node, job);
    const std::string path = path_of(node);
    DOVETAIL_TRY(const std::string content, read_named_file(node, path));
    return plan::parse_plan(content, path, job);
  }

  std::string path_of(const Node& node) const {
    return (folder_ / std::string(node.text())).lexically_normal().string();
  }

  static Status read_weight(const Node& node, Measurement& row) {
    const auto weight = node.find("weight");
    const auto caveat = node.find("doubtful");
    if (weight && caveat)
      return caveat->error("`weight` and `doubtful` cannot be combined, because a doubtful row has no weight");
    DOVETAIL_TRY(row.caveat, base::find_name(node, "doubtful"));
    if (caveat) row.weight = 0;
    if (!weight) return {};
    DOVETAIL_TRY(row.weight, base::read_number(*weight, "`weight`", 0, max_weight));
    return {};
  }

  /// Checks that the tasks in `fused` are those that the plan fuses.
  static Status check_fused(const Node& node, const Measurement& row) {
    const auto fused = node.find("fused");
    if (!fused) return {};
    const auto& pair = row.plan.fusion.training;
    const auto name_of_task = [&](std::size_t task) { return row.job.workflow.tasks[task].name; };
    const std::string accepted = pair ? fmt::format("`[[{}, {}]]`, the tasks that the plan fuses",
                                                    name_of_task((*pair)[0]), name_of_task((*pair)[1]))
                                      : "omitted, because the plan fuses no trainings";
    const auto is_pair = [&](const Node& tasks) {
      return tasks.is_list() && tasks.size() == 2 && pair &&
             std::all_of(pair->begin(), pair->end(), [&](std::size_t task) {
               return (tasks.item(0).is_string() && tasks.item(0).text() == name_of_task(task)) ||
                      (tasks.item(1).is_string() && tasks.item(1).text() == name_of_task(task));
             });
    };
    if (fused->is_list() && fused->size() == 1 && is_pair(fused->item(0))) return {};
    return fused->error(fmt::format("`fused` is {}; it must be {}", fused->describe(), accepted));
  }

  static Status read_phases(const Node& node, Measurement& row) {
    const auto phases = node.find("phases");
    if (!phases) return {};
    const plan::IterationGraph graph = plan::iteration_graph(row.job, row.plan);
    const auto is_there = [&](const Phase& phase) {
      return std::any_of(graph.activities.begin(), graph.activities.end(),
                         [&](const plan::Activity& step) { return is_in_phase(phase, row.job, step); });
    };
    std::vector<std::string_view> accepted;
    for (const PhaseKind kind : phase_kinds)
      if (is_there(kind)) accepted.push_back(base::enum_name(kind));
    for (std::size_t task = 0; task < row.job.workflow.tasks.size(); ++task)
      if (is_there(workflow::TaskId(task))) accepted.push_back(row.job.workflow.tasks[task].name);
    DOVETAIL_CHECK(base::check_keys(*phases, "`phases`", accepted));
    for (std::size_t index = 0; index < phases->size(); ++index) {
      const std::string name(phases->key(index));
      DOVETAIL_TRY(const double seconds,
                   base::read_number(phases->value(index), quote(name), min_phase_seconds, max_phase_seconds));
      row.phases.push_back({*phase_named(name, row.job), seconds});
    }
    return {};
  }

  Status read_responses(const Node& node, Measurement& row) const {
    const auto lengths = node.find("response_length");
    if (!lengths) return {};
    DOVETAIL_CHECK(base::check_keys(*lengths, "`response_length`", {"mean", "cap"}));
    DOVETAIL_TRY(const Node mean, base::require(*lengths, "`response_length`", "mean", "mean: 1060"));
    DOVETAIL_TRY(const Node cap, base::require(*lengths, "`response_length`", "cap", "cap: 4096"));
    OpenLengths open;
    DOVETAIL_TRY(open.mean, base::read_number(mean, "`mean`", 1, static_cast<double>(workflow::max_length)));
    DOVETAIL_TRY(open.cap, base::read_integer(cap, "`cap`", 1, workflow::max_length));
    for (const double sigma : {spread_.low, spread_.start, spread_.high}) {
      const auto fault =
          workflow::find_fault(workflow::LengthFigures{.mean = open.mean, .sigma = sigma, .cap = open.cap});
      if (fault) return lengths->error(fmt::format("with a spread of {}: {}", sigma, fault->message));
    }
    row.responses = open;
    return {};
  }

  const std::string& path_;
  const std::filesystem::path folder_;
  const Spread spread_;
  std::vector<std::string> names_;
  std::string gpu_;
};

}  // namespace

Result<Measurements> parse_measurements(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, path));
  const Node root = document.root();
  DOVETAIL_CHECK(base::require_format(root, "measurements", measurement_format));
  DOVETAIL_CHECK(
      base::check_keys(root, "measurements", {"format", "name", "source", "start", "fit", "spread", "rows"}));
  Measurements measurements;
  DOVETAIL_CHECK(base::require(root, "measurements", "name", "name: h100/megatron-vllm"));
  DOVETAIL_TRY(measurements.name, base::find_name(root, "name"));
  DOVETAIL_TRY(measurements.source, base::find_name(root, "source"));
  DOVETAIL_TRY(measurements.start, read_start(root, std::filesystem::path(path).parent_path()));
  DOVETAIL_TRY(measurements.fitted, read_fitted(root, measurements.start));
  DOVETAIL_TRY(measurements.spread, read_spread(root));
  DOVETAIL_TRY(const Node rows, base::require(root, "measurements", "rows", "rows: [...]"));
  if (!rows.is_list()) return rows.error(fmt::format("`rows` must be a list of maps, not {}", rows.describe()));
  RowReader reader(measurements, path);
  for (std::size_t item = 0; item < rows.size(); ++item) {
    DOVETAIL_TRY(Measurement row, reader.read(rows.item(item)));
    measurements.rows.push_back(std::move(row));
  }
  const auto counts = [](const Measurement& row) { return row.weight > 0; };
  if (std::none_of(measurements.rows.begin(), measurements.rows.end(), counts))
    return rows.error("no row counts in the fit; at least one row must have a positive weight and not be doubtful");
  measurements.start.name = measurements.name;
  return measurements;
}

namespace {

using base::json_string;
using Members = std::vector<std::pair<std::string, std::string>>;

constexpr double notable_mean_change = 0.05;

/// Rounds to microseconds, the precision of loggers.
std::string seconds_text(double seconds) { return fmt::format("{}", std::round(seconds * 1e6) / 1e6); }

std::string fused_text(const std::vector<std::vector<std::string>>& fused) {
  std::vector<std::string> phases;
  for (const std::vector<std::string>& tasks : fused) {
    std::vector<std::string> names;
    for (const std::string& task : tasks) names.push_back(json_string(task));
    phases.push_back(fmt::format("[{}]", fmt::join(names, ", ")));
  }
  return fmt::format("[{}]", fmt::join(phases, ", "));
}

std::string phases_text(const MeasuredComparison& comparison) {
  std::vector<std::string> phases;
  for (const MeasuredAgainst& phase : comparison.phases)
    if (phase.whole && phase.seconds >= min_phase_seconds)
      phases.push_back(fmt::format("{}: {}", json_string(phase.phase), seconds_text(phase.seconds)));
  return phases.empty() ? "" : fmt::format("{{{}}}", fmt::join(phases, ", "));
}

/// Response lengths if they differ from the job's; empty if no allowed spread has that mean.
std::string lengths_text(const MeasuredRun& run, const plan::Job& job) {
  const workflow::LengthDistribution& lengths = job.workload.response_length;
  if (!run.mean_response || std::abs(*run.mean_response - lengths.mean()) <= notable_mean_change * lengths.mean())
    return "";
  const double mean = std::round(*run.mean_response * 10) / 10;
  const auto cap = std::max(lengths.longest(), static_cast<std::int64_t>(std::llround(run.max_response.value_or(0))));
  const Spread spread;
  for (const double sigma : {spread.low, spread.start, spread.high})
    if (workflow::find_fault(workflow::LengthFigures{.mean = mean, .sigma = sigma, .cap = cap})) return "";
  return fmt::format("{{\"mean\": {}, \"cap\": {}}}", mean, cap);
}

std::string json_members(const Members& members) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : members) texts.push_back(fmt::format("{}: {}", json_string(key), value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Members before the rows.
Members heading_of(const MeasurementNames& names) {
  Members members{{"format", json_string(measurement_format)},
                  {"name", json_string(names.set)},
                  {"source", json_string(names.source)}};
  if (!names.start.empty()) members.emplace_back("start", json_string(names.start));
  return members;
}

base::Result<Members> members_of(const MeasurementNames& names, const MeasuredRun& run,
                                 const MeasuredComparison& comparison, const plan::Job& job) {
  if (!comparison.iteration || comparison.iteration->seconds < min_phase_seconds)
    return base::bad_input(
        fmt::format("the log has no iteration time of at least {} s, which a measurement needs; use a log with `{}{}`",
                    min_phase_seconds, trainers::log_keys(run.format).prefixes.front(),
                    trainers::log_keys(run.format).times.front().name));
  Members members{{"name", json_string(names.row)},
                  {"job", names.job_text.empty() ? json_string(names.job) : names.job_text},
                  {"plan", names.plan_text.empty() ? json_string(names.plan) : names.plan_text},
                  {"seconds", seconds_text(comparison.iteration->seconds)}};
  if (!names.fused.empty()) members.emplace_back("fused", fused_text(names.fused));
  if (std::string phases = phases_text(comparison); !phases.empty()) members.emplace_back("phases", std::move(phases));
  if (std::string lengths = lengths_text(run, job); !lengths.empty())
    members.emplace_back("response_length", std::move(lengths));
  return members;
}

}  // namespace

base::Result<std::string> measurement_to_yaml(const MeasurementNames& names, const MeasuredRun& run,
                                              const MeasuredComparison& comparison, const plan::Job& job) {
  DOVETAIL_TRY(const Members members, members_of(names, run, comparison, job));
  std::string text;
  for (const auto& [key, value] : heading_of(names)) text += fmt::format("{}: {}\n", key, value);
  text += "rows:\n";
  for (const auto& [key, value] : members)
    text += fmt::format("  {} {}: {}\n", &key == &members.front().first ? "-" : " ", key, value);
  return text;
}

base::Result<std::string> measurement_to_json(const MeasurementNames& names, const MeasuredRun& run,
                                              const MeasuredComparison& comparison, const plan::Job& job) {
  DOVETAIL_TRY(const Members members, members_of(names, run, comparison, job));
  return fmt::format("{{{}, \"rows\": [\n  {{{}}}\n]}}\n", json_members(heading_of(names)), json_members(members));
}

}  // namespace dovetail::measure
