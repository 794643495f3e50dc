// Reads jobs and plans. A trainer's configuration only caps the lengths of sequences, so real lengths can also be read
// from logs and tables.
#pragma once

#include <optional>
#include <string>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "predict/closed_form/scenario.h"
#include "trainers/import_run.h"

namespace dovetail::answer {

/// Returns the import options for a trainer's configuration with content `text`. Lengths that the options of `input`
/// lack come from its log or table, if it has one.
base::Result<trainers::ImportOptions> import_options(const JobInput& input, const std::string& text,
                                                     const Callbacks& callbacks);

/// Imports a trainer's configuration with its import options. A job file is an Error.
base::Result<trainers::Import> read_import(const JobInput& input, const Callbacks& callbacks);

/// Reports assumed and ignored settings as notes. Settings that are not modeled are not reported: the job lists them.
void notify_findings(const trainers::Import& import, const Callbacks& callbacks);

/// Reads a job with its software: cost conventions, efficiencies and layer profile. For a trainer's configuration,
/// notes list what was assumed or ignored. `cancellation` can stop predictions for the job and must outlive the
/// scenario.
base::Result<predict::Scenario> read_scenario(const JobInput& job, const Callbacks& callbacks,
                                              const parallel::Cancellation* cancellation = nullptr);

/// Like read_scenario, for a job that was read from `input`.
base::Result<predict::Scenario> scenario_for(const plan::Job& job, const Input& input,
                                             const parallel::Cancellation* cancellation = nullptr);

/// Whether the plan was made for another job. `open_lengths`: see read_plan.
bool is_for_another(const plan::Plan& plan, const predict::Scenario& scenario, bool open_lengths);

/// Reads a plan of the scenario's job. Notes warn if it was made for another job or if the job's trainer cannot run it.
/// `open_lengths`: response lengths are unknown, so a plan found for a share of their cap (open_lengths.h) belongs to
/// this job.
base::Result<plan::Plan> read_plan(const Input& plan, const predict::Scenario& scenario, const Callbacks& callbacks,
                                   bool open_lengths = false);

/// Job that was imported from a trainer's configuration.
struct ImportedJob {
  std::string text;                   ///< as dovetail/job@1
  std::string file;                   ///< the configuration; relative paths start at its folder
  bool has_response_lengths = false;  ///< response lengths were given; false: in `text`, all responses reach the cap
};

/// Job of a request, with its plan if there is one.
struct LoadedJob {
  predict::Scenario scenario;
  std::optional<plan::Plan> plan;
  bool own_plan = false;  ///< the plan comes from the trainer's configuration
  std::optional<ImportedJob> imported = std::nullopt;

  bool has_open_lengths() const { return imported && !imported->has_response_lengths; }
};

/// Reads the job and the plan, and reports the job's name to `callbacks`. Without `plan`, the plan of a trainer's
/// configuration is used, and a job file is loaded without a plan. `cancellation` can stop work on the loaded job and
/// must outlive it. The loaded job lists the unmodeled settings of job and plan.
base::Result<LoadedJob> load_job(const JobInput& job, const std::optional<Input>& plan, const Callbacks& callbacks,
                                 const parallel::Cancellation* cancellation = nullptr);

/// Returns the prompt and response lengths in the log of a run. `name` is the name of the log.
LengthsLogged lengths_logged(const measure::MeasuredRun& run, std::string name);

/// Returns the import options of `input`, completed with the lengths that they lack: from the file `input.lengths`,
/// otherwise from the log `input.logged`. `import` is the configuration as imported without these lengths. A note
/// reports which lengths are used. Returns an Error if `input.lengths` is neither a log with response lengths nor a
/// table of lengths.
base::Result<trainers::ImportOptions> options_with_lengths(const JobInput& input, const trainers::Import& import,
                                                           const Callbacks& callbacks);

}  // namespace dovetail::answer
