// Jobs and plans as requests name them.
#pragma once

#include <optional>
#include <string>

#include "answer/question/input.h"
#include "answer/question/watch.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "predict/closed_form/scenario.h"
#include "trainers/import_run.h"

namespace dovetail::answer {

/// What is said beside a trainer's configuration, whose content is `text`, with the lengths of a log or a file where
/// these are given.
base::Result<trainers::ImportOptions> import_options(const JobInput& input, const std::string& text,
                                                     const Watch& watch);

/// Reads the configuration of a trainer, with the lengths that are said beside it. An Error where it is none.
base::Result<trainers::Import> read_import(const JobInput& input, const Watch& watch);

/// Tells what was assumed and what the trainer ignores; what is not modelled stands in the job.
void tell_findings(const trainers::Import& import, const Watch& watch);

/// Reads a job with the software that it names, which `cancellation` may stop the work on. Notes say what was assumed
/// where it is a trainer's configuration.
base::Result<predict::Scenario> read_scenario(const JobInput& job, const Watch& watch,
                                              const parallel::Cancellation* cancellation = nullptr);

/// The same of a job that was read from `input`.
base::Result<predict::Scenario> scenario_for(const plan::Job& job, const Input& input,
                                             const parallel::Cancellation* cancellation = nullptr);

/// Whether the plan was made for another job. `open_lengths`: as read_plan has it.
bool is_for_another(const plan::Plan& plan, const predict::Scenario& scenario, bool open_lengths);

/// Reads a plan of it. Notes say where it was made for another job, and what of it the job's trainer cannot do.
/// `open_lengths`: nobody says how long responses are, so that a plan found at a part of their cap (open_lengths.h) is
/// of this job, too.
base::Result<plan::Plan> read_plan(const Input& plan, const predict::Scenario& scenario, const Watch& watch,
                                   bool open_lengths = false);

/// A job that a trainer's configuration was read as.
struct ImportedJob {
  std::string text;             ///< as dovetail/job@1
  std::string file;             ///< of the configuration: relative paths lead from its folder
  bool says_responses = false;  ///< how long they are, beside it; else the job has all of them at their cap
};

/// A job, and the plan of it that a question is about where one is given.
struct AskedJob {
  predict::Scenario scenario;
  std::optional<plan::Plan> plan;
  bool own_plan = false;  ///< it is that of the configuration which the job was read from
  std::optional<ImportedJob> imported = std::nullopt;

  bool has_open_lengths() const { return imported && !imported->says_responses; }
};

/// Reads both, and tells `watch` the job's name. `cancellation` may stop the work on the job, and must outlive it.
/// Where no plan is given that of a trainer's configuration is taken. The job has what is not modelled of either.
base::Result<AskedJob> read_asked(const JobInput& job, const std::optional<Input>& plan, const Watch& watch,
                                  const parallel::Cancellation* cancellation = nullptr);

}  // namespace dovetail::answer
