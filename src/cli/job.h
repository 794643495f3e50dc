// Jobs, plans of them and what is predicted of these: what the commands about plans have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/words/amounts.h"
#include "base/result.h"
#include "cli/command_line.h"
#include "cli/output.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "predict/closed_form/estimate.h"
#include "predict/closed_form/profile_use.h"

namespace dovetail::cli {

/// What the commands about plans are given.
struct PlanArguments {
  std::string job;
  std::optional<std::string> plan;
  bool json = false;
};

/// Adds JOB, --plan and --json.
void add_plan_arguments(CLI::App& command, PlanArguments& arguments, const std::string& about_plan);

/// Reads the job; an Error where its plan is to come from standard input, too.
base::Result<plan::Job> load_job(const PlanArguments& arguments);
/// The software that it names; `path` is the job's, for errors.
base::Result<predict::Software> load_software(const plan::Job& job, const std::string& path);
/// Reads the plan in the file at `path`, '-' for standard input. Notes say where it was made for another job, and what of it the job's
/// trainer cannot do.
base::Result<plan::Plan> load_plan(const std::string& path, const plan::Job& job, const predict::Software& software);

using answer::gibibytes;
using answer::seconds_text;

}  // namespace dovetail::cli
