#include "answer/plans/job_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "answer/plans/log_lengths.h"
#include "answer/plans/open_lengths.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "predict/closed_form/software.h"
#include "predict/closed_form/trainer_rules.h"
#include "trainers/import/hub_cache.h"

namespace dovetail::answer {
namespace {

base::Result<predict::Software> software_of(const plan::Job& job, const Input& input) {
  auto software = predict::software_of(job);
  if (software.ok()) return software;
  base::Error error = std::move(software).error();
  if (!error.path.empty()) return error;
  error.path = name_of(input);
  // A fault of a fixed setting has its place. Otherwise a name is unknown.
  if (error.line > 0) return error;
  const base::FilePlace place = predict::conventions_of(job.software).ok() ? job.efficiency_place : job.training_place;
  error.line = place.line;
  error.column = place.column;
  return error;
}

base::Result<trainers::Import> imported(const std::string& path, const std::string& text,
                                        const trainers::ImportOptions& options) {
  return trainers::import_run(path, text, options, trainers::hub_cache_folder(options.environment));
}

/// Job with its plan, if it comes with one.
struct ReadJob {
  plan::Job job;
  std::optional<plan::Plan> plan;
  std::optional<ImportedJob> imported;
};

base::Result<ReadJob> read_job(const JobInput& input, const Watch& watch) {
  DOVETAIL_TRY(const std::string text, read_input({trainers::file_of(input.path), input.text}));
  if (!trainers::is_foreign(input.path, text)) {
    if (has_import_options(input))
      return base::bad_input(
          fmt::format("{} is a job file; it cannot be combined with --gpu, --env, --lengths and other options for "
                      "trainer configurations",
                      name_of(input)));
    DOVETAIL_TRY(plan::Job job, plan::parse_job(text, name_of(input)));
    return ReadJob{std::move(job), std::nullopt, std::nullopt};
  }
  DOVETAIL_TRY(const trainers::ImportOptions options, import_options(input, text, watch));
  DOVETAIL_TRY(trainers::Import import, imported(input.path, text, options));
  tell_findings(import, watch);
  import.job.origin = trainers::reading_words(import);
  return ReadJob{std::move(import.job), std::move(import.plan),
                 ImportedJob{std::move(import.text), import.file, options.response_length.has_value()}};
}

}  // namespace

base::Result<trainers::ImportOptions> import_options(const JobInput& input, const std::string& text,
                                                     const Watch& watch) {
  if (!input.lengths && !input.logged) return input.import;
  DOVETAIL_TRY(const trainers::Import without, imported(input.path, text, input.import));
  return options_with_lengths(input, without, watch);
}

base::Result<predict::Scenario> scenario_for(const plan::Job& job, const Input& input,
                                             const parallel::Cancellation* cancellation) {
  DOVETAIL_TRY(const predict::Software software, software_of(job, input));
  return predict::scenario_of(job, software, cancellation);
}

base::Result<trainers::Import> read_import(const JobInput& input, const Watch& watch) {
  DOVETAIL_TRY(const std::string text, read_input({trainers::file_of(input.path), input.text}));
  DOVETAIL_TRY(const trainers::ImportOptions options, import_options(input, text, watch));
  return imported(input.path, text, options);
}

void tell_findings(const trainers::Import& import, const Watch& watch) {
  const std::pair<const char*, const std::vector<trainers::Finding>*> all[] = {{"assumed", &import.run.assumed},
                                                                               {"ignored", &import.run.ignored}};
  for (const auto& [kind, findings] : all)
    for (const trainers::Finding& finding : *findings)
      tell_note(watch, fmt::format("{}: {}", kind, trainers::finding_words(import, finding)));
}

base::Result<predict::Scenario> read_scenario(const JobInput& input, const Watch& watch,
                                              const parallel::Cancellation* cancellation) {
  DOVETAIL_TRY(const ReadJob read, read_job(input, watch));
  return scenario_for(read.job, input, cancellation);
}

bool is_for_another(const plan::Plan& plan, const predict::Scenario& scenario, bool open_lengths) {
  if (!plan::is_for_another_job(plan, scenario.job)) return false;
  const auto was_found_at = [&](double part) {
    return !plan::is_for_another_job(plan, at_part_of_cap(scenario, part).job);
  };
  return !open_lengths || std::none_of(open_parts.begin(), open_parts.end(), was_found_at);
}

base::Result<plan::Plan> read_plan(const Input& input, const predict::Scenario& scenario, const Watch& watch,
                                   bool open_lengths) {
  DOVETAIL_TRY(const std::string text, read_input(input));
  DOVETAIL_TRY(plan::Plan plan, plan::parse_plan(text, name_of(input), scenario.job));
  if (is_for_another(plan, scenario, open_lengths))
    tell_note(
        watch,
        "the plan was made for another job, or for an older version of this one; results are for the job as it is now");
  for (const predict::TrainerFault& fault : predict::trainer_faults(scenario.job, scenario.software.conventions, plan))
    tell_note(watch, "the trainer cannot run this plan: " + fault.message);
  return plan;
}

base::Result<AskedJob> read_asked(const JobInput& job, const std::optional<Input>& plan, const Watch& watch,
                                  const parallel::Cancellation* cancellation) {
  DOVETAIL_CHECK(check_standard_input({job, plan}));
  DOVETAIL_TRY(ReadJob read, read_job(job, watch));
  DOVETAIL_TRY(predict::Scenario scenario, scenario_for(read.job, job, cancellation));
  tell_label(watch, scenario.job.name);
  const bool own = !plan && read.plan;
  AskedJob asked{std::move(scenario), own ? std::move(read.plan) : std::nullopt, own, std::move(read.imported)};
  if (plan) {
    DOVETAIL_TRY(asked.plan, read_plan(*plan, asked.scenario, watch, asked.has_open_lengths()));
    plan::Job& of = asked.scenario.job;
    of.not_modelled = plan::joined(std::move(of.not_modelled), asked.plan->not_modelled);
  }
  return asked;
}

}  // namespace dovetail::answer
