#include "answer/plans/exporting.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "answer/plans/alternatives.h"
#include "answer/plans/job_input.h"
#include "answer/plans/open_lengths.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/text.h"
#include "plan/framework.h"
#include "plan/plan_file.h"
#include "predict/closed_form/estimate.h"
#include "trainers/changed_base.h"

namespace dovetail::answer {
namespace {

/// Returns the bytes by which the worst device exceeds its memory; negative: bytes left.
std::int64_t missing_bytes(const predict::Estimate& estimate) {
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (const predict::TaskMemory& task : estimate.memory) most = std::max(most, -task.headroom());
  return most;
}

/// Reason for a change: how a run without it differs from the plan.
std::string reason_of(const predict::Scenario& scenario, const trainers::RequiredChange& kept,
                      const predict::Estimate& whole, std::string_view trainer) {
  if (!kept.without)
    return fmt::format("without it, {} cannot run the job: {}", trainer, kept.stops.substr(0, kept.stops.find('\n')));
  const predict::Estimate without = predict::estimate(scenario, *kept.without);
  const std::int64_t missing = missing_bytes(without);
  if (missing > 0 && missing_bytes(whole) <= 0)
    return fmt::format("without it, peak memory is {} above what the margin leaves", gibibytes(missing));
  const double seconds = without.iteration_seconds - whole.iteration_seconds;
  const std::int64_t bytes = missing - missing_bytes(whole);
  const auto more_or_less = [](bool more) { return more ? "more" : "less"; };
  if (seconds >= 0.005 || (seconds <= -0.005 && bytes == 0))
    return fmt::format("without it, the iteration takes {} {}", seconds_text(std::abs(seconds)),
                       more_or_less(seconds > 0));
  if (bytes != 0)
    return fmt::format("without it, {} {} peak memory", gibibytes(std::abs(bytes)), more_or_less(bytes > 0));
  return "set by the plan; changes neither time nor memory";
}

/// Minimum gain of a change, as a share of the iteration. Smaller ones are left out.
constexpr double min_gain = 0.002;

/// Scenario of a configuration's job. Unknown response lengths are assumed at a share of their cap.
base::Result<predict::Scenario> exported_scenario(const plan::Job& job, const trainers::ExportBase& base) {
  DOVETAIL_TRY(predict::Scenario scenario, scenario_for(job, Input{base.path}));
  return base.options.response_length ? std::move(scenario) : at_share_of_cap(scenario, default_share);
}

base::Result<ExportAnswer> answer_of(const predict::Scenario& scenario, const trainers::ExportBase& base,
                                     trainers::Export made, const plan::Plan& plan) {
  const predict::Estimate whole = predict::estimate(scenario, plan);
  DOVETAIL_TRY(const predict::Scenario as_it_is, exported_scenario(made.base.job, base));
  const double base_seconds = predict::estimate(as_it_is, made.base.plan).iteration_seconds;
  const std::string trainer = made.base.trainer;
  std::vector<std::string> reasons;
  for (const trainers::RequiredChange& kept : made.changes)
    reasons.push_back(clean_text(reason_of(scenario, kept, whole, trainer)));
  DOVETAIL_TRY(std::string content, trainers::commented_content(base, made, reasons));
  ExportAnswer answer{.trainer = trainer,
                      .job_name = made.base.job.name,
                      .base_file = made.base.file,
                      .reading = trainers::reading_text(made.base),
                      .is_script = made.base.launch.has_value(),
                      .in_place = made.in_place,
                      .base_content = base.content,
                      .content = std::move(content),
                      .required = {},
                      .plan_name = plan.placement,
                      .changes = {},
                      .plan = plan,
                      .not_modelled = plan::joined(made.base.job.not_modelled, plan.not_modelled),
                      .seconds = whole.iteration_seconds,
                      .base_seconds = base_seconds};
  for (std::size_t i = 0; i < reasons.size(); ++i)
    answer.changes.push_back({std::move(made.changes[i].change), std::move(reasons[i])});
  return answer;
}

/// Returns the plan without its least useful change; nullopt if every change gains at least min_gain.
std::optional<plan::Plan> without_smallest(const predict::Scenario& scenario, const trainers::Export& made,
                                           const plan::Plan& plan) {
  double most = predict::estimate(scenario, plan).iteration_seconds * (1 + min_gain);
  std::optional<plan::Plan> best;
  for (const trainers::RequiredChange& kept : made.changes) {
    if (!kept.without) continue;
    const predict::Estimate without = predict::estimate(scenario, *kept.without);
    if (!without.keeps_margin() || without.iteration_seconds > most) continue;
    most = without.iteration_seconds;
    best = kept.without;
  }
  return best;
}

/// The requested trainer, otherwise the framework of the job.
base::Result<std::string> trainer_of(const ExportRequest& request, const plan::Job& job) {
  if (!request.trainer.empty()) return request.trainer;
  const plan::Framework* const framework = plan::find_framework(job.software);
  if (framework != nullptr) return std::string(framework->name);
  return base::bad_input("the job names no framework to export to; give --to TRAINER");
}

/// Writes a complete file for a plan and its job.
base::Result<ExportAnswer> answer_complete_file(const ExportRequest& request, const Callbacks& callbacks) {
  DOVETAIL_CHECK(check_standard_input({request.plan, request.job}));
  DOVETAIL_TRY(const predict::Scenario scenario, read_scenario(JobInput(*request.job), callbacks));
  DOVETAIL_TRY(const plan::Plan plan, read_plan(request.plan, scenario, callbacks));
  DOVETAIL_CHECK(notify_read(callbacks));
  DOVETAIL_TRY(const std::string trainer, trainer_of(request, scenario.job));
  DOVETAIL_TRY(trainers::CompleteExport made, trainers::export_complete_file(scenario.job, plan, trainer));
  ExportAnswer answer{.trainer = std::move(made.trainer),
                      .job_name = scenario.job.name,
                      .base_file = {},
                      .reading = {},
                      .is_script = made.is_script,
                      .in_place = true,
                      .base_content = {},
                      .content = std::move(made.content),
                      .required = std::move(made.required),
                      .plan_name = plan.placement,
                      .changes = {},
                      .plan = plan,
                      .not_modelled = plan.not_modelled,
                      .seconds = predict::estimate(scenario, plan).iteration_seconds};
  for (trainers::Change& change : made.changes) answer.changes.push_back({std::move(change), {}});
  answer.format = request.format;
  return answer;
}

/// Changes that switch the base to the backend and mode of the plan. Empty if the base fits as it is, or if no allowed
/// switch does.
base::Result<std::vector<trainers::Change>> switches_for(const ExportRequest& request, const Callbacks& callbacks) {
  std::vector<trainers::Change> none;
  if (request.allowed.empty()) return none;
  DOVETAIL_TRY(const trainers::Allowed allowed, allowed_of(request.allowed));
  DOVETAIL_TRY(const std::vector<Alternative> alternatives, list_alternatives(request.base, allowed, callbacks));
  DOVETAIL_TRY(const std::string text, read_input(request.plan));
  for (const Alternative& alternative : alternatives) {
    if (!alternative.rejection.empty()) continue;
    DOVETAIL_TRY(const trainers::Import import, read_import(alternative.input, callbacks));
    DOVETAIL_TRY(const predict::Scenario scenario, scenario_for(import.job, alternative.input));
    const auto plan = plan::parse_plan(text, name_of(request.plan), import.job);
    if (plan.ok() && !is_for_another(*plan, scenario, !alternative.input.import.response_length))
      return alternative.changes;
  }
  return none;
}

}  // namespace

base::Result<ExportAnswer> answer_to(const ExportRequest& request, const Callbacks& callbacks) {
  if (!request.trainer.empty()) DOVETAIL_CHECK(trainers::find_writer(request.trainer));
  if (is_given(request.base) == request.job.has_value())
    return base::bad_input("give either --base FILE to change a configuration, or --job FILE to write a complete one");
  if (request.job && has_import_options(request.base))
    return base::bad_input("--job cannot be combined with --gpu, --env or --lengths: the job file already sets them");
  if (request.job && !request.allowed.empty())
    return base::bad_input("--allow needs --base FILE, whose backend or mode it may change");
  if (request.job) return answer_complete_file(request, callbacks);
  DOVETAIL_CHECK(check_standard_input({request.plan, request.base}));
  DOVETAIL_TRY(const trainers::ExportBase base, read_base(request.base, callbacks));
  DOVETAIL_TRY(const std::vector<trainers::Change> switches, switches_for(request, callbacks));
  DOVETAIL_TRY(const trainers::Import as_it_is, trainers::import_base(base));
  DOVETAIL_TRY(const trainers::Import import, trainers::import_changed(base, as_it_is, switches));
  DOVETAIL_TRY(const predict::Scenario at_cap, scenario_for(import.job, request.base));
  const bool open_lengths = !base.options.response_length;
  DOVETAIL_TRY(const plan::Plan plan, read_plan(request.plan, at_cap, callbacks, open_lengths));
  DOVETAIL_TRY(const predict::Scenario scenario, exported_scenario(import.job, base));
  if (open_lengths)
    notify_note(
        callbacks,
        fmt::format("response lengths are unknown: times assume a mean of {:.0f}% of the cap; set --response-length",
                    100 * default_share));
  DOVETAIL_CHECK(notify_read(callbacks));
  DOVETAIL_TRY(const std::string trainer, trainer_of(request, import.job));
  DOVETAIL_TRY(trainers::Export made, trainers::export_run(base, plan, trainer, switches));
  DOVETAIL_TRY(ExportAnswer answer, answer_of(scenario, base, std::move(made), plan));
  answer.format = request.format;
  return answer;
}

base::Result<ExportAnswer> export_found(const JobInput& input, const predict::Scenario& scenario, plan::Plan plan,
                                        const std::vector<trainers::Change>& switches) {
  DOVETAIL_TRY(const trainers::ExportBase base, read_base(input, Callbacks{}));
  DOVETAIL_TRY(const trainers::Import import, trainers::import_base(base));
  const std::string placement = plan.placement;
  while (true) {
    DOVETAIL_TRY(trainers::Export made, trainers::export_run(base, plan, import.trainer, switches));
    std::optional<plan::Plan> nearer = without_smallest(scenario, made, plan);
    if (!nearer) {
      DOVETAIL_TRY(ExportAnswer answer, answer_of(scenario, base, std::move(made), plan));
      // The caller that found the plan reports unmodeled settings of the job.
      answer.not_modelled.clear();
      return answer;
    }
    plan = *std::move(nearer);
    plan.placement = placement;
  }
}

namespace {

Table changes_table(const ExportAnswer& answer) {
  Table table{.columns = {{"setting", Align::left}, {"value", Align::left}, {"reason", Align::left}}, .rows = {}};
  for (const ReasonedChange& change : answer.changes) {
    const std::string value = change.change.removes ? "(removed)" : change.change.set.value;
    table.rows.push_back({change.change.set.key, value, change.reason});
    for (const trainers::Setter& more : change.change.with)
      table.rows.push_back({more.key, more.value, "set together with the setting above"});
  }
  return table;
}

Sections complete_file_sections(const ExportAnswer& answer) {
  Sections all = fmt::format("complete configuration for {}: {} per iteration\nrequired variables:", answer.trainer,
                             seconds_text(answer.seconds));
  for (const trainers::RequiredName& required : answer.required)
    all += fmt::format("\n  {}: {}", required.name, required.what);
  all += std::string("\n\n");
  Table table{.columns = {{"setting", Align::left}, {"value", Align::left}}, .rows = {}};
  for (const ReasonedChange& change : answer.changes) {
    table.rows.push_back({change.change.set.key, change.change.set.value});
    for (const trainers::Setter& more : change.change.with) table.rows.push_back({more.key, more.value});
  }
  all += std::move(table);
  return all;
}

}  // namespace

Sections sections(const ExportAnswer& answer) {
  if (answer.base_file.empty()) return complete_file_sections(answer);
  Sections all = answer.reading + "\n";
  all += fmt::format("iteration: {} before, {} with the plan\n\n", seconds_text(answer.base_seconds),
                     seconds_text(answer.seconds));
  if (answer.changes.empty()) {
    all += std::string("no changes: the configuration already runs this plan\n");
    return all + not_modelled_text(answer.not_modelled);
  }
  all += changes_table(answer);
  if (answer.content != answer.base_content) all += "\n" + difference_of(answer.base_content, answer.content);
  return all + not_modelled_text(answer.not_modelled);
}

}  // namespace dovetail::answer
