#include "cli/job.h"

#include <utility>

#include "base/file.h"
#include "cli/arguments.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "predict/closed_form/software.h"
#include "predict/closed_form/trainer_rules.h"

namespace dovetail::cli {

void add_plan_arguments(CLI::App& command, PlanArguments& arguments, const std::string& about_plan) {
  add_positional(command, "JOB", arguments.job, "job file, '-' for standard input");
  add_text_option(command, "--plan", arguments.plan, "FILE", about_plan);
  add_json_flag(command, arguments.json);
}

base::Result<plan::Job> load_job(const PlanArguments& arguments) {
  if (arguments.job == "-" && arguments.plan == "-") return base::bad_input("the job and the plan cannot both be read from standard input");
  DOVETAIL_TRY(const std::string text, base::read_file(arguments.job));
  return plan::parse_job(text, base::display_path(arguments.job));
}

base::Result<predict::Software> load_software(const plan::Job& job, const std::string& path) {
  auto software = predict::software_of(job);
  if (software.ok()) return software;
  base::Error error = std::move(software).error();
  if (!error.path.empty()) return error;
  error.path = base::display_path(path);
  // What is fixed has its place; else a name is not known.
  if (error.line > 0) return error;
  const base::FilePlace place = predict::conventions_of(job.software).ok() ? job.efficiency_place : job.training_place;
  error.line = place.line;
  error.column = place.column;
  return error;
}

base::Result<plan::Plan> load_plan(const std::string& path, const plan::Job& job, const predict::Software& software) {
  DOVETAIL_TRY(const std::string text, base::read_file(path));
  DOVETAIL_TRY(plan::Plan plan, plan::parse_plan(text, base::display_path(path), job));
  if (plan::is_for_another_job(plan, job))
    print_note("the plan was made for another job, or for this one before it was changed; what follows is of this job");
  for (const predict::TrainerFault& fault : predict::trainer_faults(job, software.conventions, plan))
    print_note("the trainer cannot run this plan: " + fault.message);
  return plan;
}

}  // namespace dovetail::cli
