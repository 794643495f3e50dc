#include "answer/plans/job_input.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "answer/plans/open_lengths.h"
#include "base/file.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "predict/closed_form/software.h"
#include "predict/closed_form/trainer_rules.h"
#include "syntax/files.h"
#include "trainers/import/models.h"
#include "trainers/log_formats.h"
#include "workflow/lengths_file.h"

namespace dovetail::answer {
namespace {

base::Result<predict::Software> software_of(const plan::Job& job, const Input& input) {
  auto software = predict::software_of(job);
  if (software.ok()) return software;
  base::Error error = std::move(software).error();
  if (!error.path.empty()) return error;
  error.path = name_of(input);
  // An invalid fixed setting already has a position. All other errors are unknown names.
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

base::Result<ReadJob> read_job(const JobInput& input, const Callbacks& callbacks) {
  DOVETAIL_TRY(const std::string text, read_input({trainers::file_of(input.path), input.text}));
  const bool is_job = text.find("dovetail/job@1") != std::string::npos;
  if (!trainers::is_foreign(input.path, text) && (is_job || !has_import_options(input))) {
    if (has_import_options(input))
      return base::bad_input(
          fmt::format("{} is a job file; it cannot be combined with --gpu, --env, --lengths or other options for "
                      "trainer configurations",
                      name_of(input)));
    DOVETAIL_TRY(plan::Job job, plan::parse_job(text, name_of(input)));
    return ReadJob{std::move(job), std::nullopt, std::nullopt};
  }
  DOVETAIL_TRY(const trainers::ImportOptions options, import_options(input, text, callbacks));
  DOVETAIL_TRY(trainers::Import import, imported(input.path, text, options));
  notify_findings(import, callbacks);
  import.job.origin = trainers::reading_text(import);
  return ReadJob{std::move(import.job), std::move(import.plan),
                 ImportedJob{std::move(import.text), import.file, options.response_length.has_value()}};
}

namespace fs = std::filesystem;

/// Lengths of a log in the syntax of `--response-length`.
std::string lengths_text(const measure::LengthsOfLog& lengths) {
  if (!lengths.figures) return fmt::format("{}", lengths.mean);
  const workflow::LengthFigures& figures = *lengths.figures;
  std::string text = fmt::format("mean={:.1f}", *figures.mean);
  if (figures.sigma) text += fmt::format(",sigma={:.4f}", *figures.sigma);
  if (figures.at_cap) text += fmt::format(",at_cap={:.6f}", *figures.at_cap);
  return text;
}

std::string taken_text(std::string_view what, const std::string& name, const measure::LoggedLengths& logged,
                       std::int64_t cap, const std::string& spread) {
  return fmt::format("{} from {}: mean {:.0f} tokens, cap {}, {}", what, name, logged.mean, cap, spread);
}

/// Cap of the responses in a log. If prompt and response share a cap, the mean prompt is subtracted.
std::int64_t response_cap(const trainers::ImportedRun& run, const LengthsLogged& lengths) {
  if (run.sequence_cap == 0) return run.effective_response_cap();
  const std::int64_t prompt = lengths.prompts ? std::llround(lengths.prompts->mean) : run.prompt_cap;
  return std::clamp<std::int64_t>(run.sequence_cap - prompt, 1, run.effective_response_cap());
}

/// Sets lengths that `options` lacks from a log.
void take_logged(const LengthsLogged& lengths, const trainers::Import& import, trainers::ImportOptions& options,
                 const Callbacks& callbacks) {
  const trainers::ImportedRun& run = import.run;
  const auto take = [&](std::string_view what, const std::optional<measure::LoggedLengths>& logged, std::int64_t cap,
                        std::int64_t draws, std::optional<std::string>& given) {
    if (!logged || given) return;
    const measure::LengthsOfLog taken = measure::lengths_of_log(*logged, cap, draws);
    given = lengths_text(taken);
    notify_note(callbacks, taken_text(what, lengths.name, *logged, cap, taken.spread));
  };
  take("prompt lengths", lengths.prompts, run.effective_prompt_cap(), run.prompts, options.prompt_length);
  take("response lengths", lengths.responses, response_cap(run, lengths), run.prompts * run.samples_per_prompt,
       options.response_length);
}

/// Path relative to the folder of `file`.
std::string sibling_path(const std::string& path, const std::string& file) {
  if (fs::path(path).is_absolute()) return path;
  std::error_code fault;
  const fs::path relative = fs::proximate(path, fs::path(file).parent_path(), fault);
  return fault ? path : relative.string();
}

/// Reads a log with known times; nullopt if the file is not one.
std::optional<measure::MeasuredRun> run_of(const std::string& content, const std::string& name) {
  auto log = trainers::read_step_log({{content, name}});
  if (!log.ok()) return std::nullopt;
  auto run = measure::measured_run(*log);
  return run.ok() ? std::optional(*std::move(run)) : std::nullopt;
}

base::Status take_of_file(const std::string& path, const trainers::Import& import, trainers::ImportOptions& options,
                          const Callbacks& callbacks) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  const std::string name = base::display_path(path);
  if (const auto run = run_of(content, name)) {
    const LengthsLogged lengths = lengths_logged(*run, name);
    if (!lengths.responses)
      return base::Error{base::Failure::bad_input, name, 0, 0,
                         "the log has no response lengths; use another log or --response-length"};
    take_logged(lengths, import, options, callbacks);
    return {};
  }
  auto table = workflow::parse_length_table(content, name, "");
  if (!table.ok()) {
    base::Error error = std::move(table).error();
    error.message = "neither a trainer's log nor a table of lengths: " + error.message;
    return error;
  }
  if (options.response_length) return {};
  options.response_length = "file=" + sibling_path(path, import.file);
  notify_note(callbacks, fmt::format("response lengths from {}: mean {:.0f} tokens, maximum {}", name, table->mean(),
                                     table->longest()));
  return {};
}

}  // namespace

base::Result<trainers::ImportOptions> import_options(const JobInput& input, const std::string& text,
                                                     const Callbacks& callbacks) {
  if (!input.lengths && !input.logged) return input.import;
  DOVETAIL_TRY(const trainers::Import without, imported(input.path, text, input.import));
  return options_with_lengths(input, without, callbacks);
}

base::Result<predict::Scenario> scenario_for(const plan::Job& job, const Input& input,
                                             const parallel::Cancellation* cancellation) {
  DOVETAIL_TRY(const predict::Software software, software_of(job, input));
  return predict::scenario_of(job, software, cancellation);
}

base::Result<trainers::Import> read_import(const JobInput& input, const Callbacks& callbacks) {
  DOVETAIL_TRY(const std::string text, read_input({trainers::file_of(input.path), input.text}));
  DOVETAIL_TRY(const trainers::ImportOptions options, import_options(input, text, callbacks));
  return imported(input.path, text, options);
}

void notify_findings(const trainers::Import& import, const Callbacks& callbacks) {
  const std::pair<const char*, const std::vector<trainers::Finding>*> all[] = {{"assumed", &import.run.assumed},
                                                                               {"ignored", &import.run.ignored}};
  for (const auto& [kind, findings] : all)
    for (const trainers::Finding& finding : *findings)
      notify_note(callbacks, fmt::format("{}: {}", kind, trainers::finding_text(import, finding)));
}

base::Result<predict::Scenario> read_scenario(const JobInput& input, const Callbacks& callbacks,
                                              const parallel::Cancellation* cancellation) {
  DOVETAIL_TRY(const ReadJob read, read_job(input, callbacks));
  return scenario_for(read.job, input, cancellation);
}

bool is_for_another(const plan::Plan& plan, const predict::Scenario& scenario, bool open_lengths) {
  if (!plan::is_for_another_job(plan, scenario.job)) return false;
  const auto was_found_at = [&](double part) {
    return !plan::is_for_another_job(plan, at_share_of_cap(scenario, part).job);
  };
  return !open_lengths || std::none_of(assumed_shares.begin(), assumed_shares.end(), was_found_at);
}

base::Result<plan::Plan> read_plan(const Input& input, const predict::Scenario& scenario, const Callbacks& callbacks,
                                   bool open_lengths) {
  DOVETAIL_TRY(const std::string text, read_input(input));
  DOVETAIL_TRY(plan::Plan plan, plan::parse_plan(text, name_of(input), scenario.job));
  if (is_for_another(plan, scenario, open_lengths))
    notify_note(
        callbacks,
        "the plan was made for another job, or for an older version of this one; results are for the job as it is now");
  for (const predict::TrainerFault& fault : predict::trainer_faults(scenario.job, scenario.software.conventions, plan))
    notify_note(callbacks, "the trainer cannot run this plan: " + fault.message);
  return plan;
}

base::Result<LoadedJob> load_job(const JobInput& job, const std::optional<Input>& plan, const Callbacks& callbacks,
                                 const parallel::Cancellation* cancellation) {
  DOVETAIL_CHECK(check_standard_input({job, plan}));
  DOVETAIL_TRY(ReadJob read, read_job(job, callbacks));
  DOVETAIL_TRY(predict::Scenario scenario, scenario_for(read.job, job, cancellation));
  notify_label(callbacks, scenario.job.name);
  const bool own = !plan && read.plan;
  LoadedJob loaded{std::move(scenario), own ? std::move(read.plan) : std::nullopt, own, std::move(read.imported)};
  if (plan) {
    DOVETAIL_TRY(loaded.plan, read_plan(*plan, loaded.scenario, callbacks, loaded.has_open_lengths()));
    plan::Job& of = loaded.scenario.job;
    of.not_modelled = plan::joined(std::move(of.not_modelled), loaded.plan->not_modelled);
  }
  return loaded;
}

LengthsLogged lengths_logged(const measure::MeasuredRun& run, std::string name) {
  return {std::move(name), measure::logged_prompts(run), measure::logged_responses(run)};
}

base::Result<trainers::ImportOptions> options_with_lengths(const JobInput& input, const trainers::Import& import,
                                                           const Callbacks& callbacks) {
  trainers::ImportOptions options = input.import;
  if (input.lengths) DOVETAIL_CHECK(take_of_file(*input.lengths, import, options, callbacks));
  if (input.logged) take_logged(*input.logged, import, options, callbacks);
  return options;
}

}  // namespace dovetail::answer
