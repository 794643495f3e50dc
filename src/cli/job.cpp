#include "cli/job.h"

#include <fmt/format.h>

#include <utility>

#include "base/file.h"
#include "cli/arguments.h"
#include "place/software.h"
#include "plan/job_file.h"
#include "plan/plan_file.h"

namespace dovetail::cli {

void add_plan_arguments(CLI::App& command, PlanArguments& arguments) {
  add_positional(command, "JOB", arguments.job, "job file, '-' for standard input");
  command.add_option("--plan", arguments.plan, "the plan, a dovetail/plan@1 file")->required()->option_text("FILE");
  add_json_flag(command, arguments.json);
}

base::Result<Prediction> predict(const PlanArguments& arguments) {
  DOVETAIL_TRY(const std::string job_text, base::read_file(arguments.job));
  DOVETAIL_TRY(plan::Job job, plan::parse_job(job_text, base::display_path(arguments.job)));
  DOVETAIL_TRY(const std::string plan_text, base::read_file(arguments.plan));
  DOVETAIL_TRY(plan::Plan plan, plan::parse_plan(plan_text, base::display_path(arguments.plan), job));
  auto software = place::software_of(job);
  if (!software.ok()) {
    base::Error error = std::move(software).error();
    error.path = base::display_path(arguments.job);
    return error;
  }
  const place::Ground ground = place::ground_of(job, *software);
  place::Estimate estimate = place::estimate(ground, plan);
  return Prediction{std::move(job), std::move(plan), software->efficiency.name, software->conventions.name, std::move(estimate)};
}

std::string gibibytes(std::int64_t bytes) { return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30)); }

std::string seconds_text(double seconds) {
  if (seconds >= 100) return fmt::format("{:.0f} s", seconds);
  if (seconds >= 1) return fmt::format("{:.1f} s", seconds);
  return fmt::format("{:.1f} ms", seconds * 1e3);
}

}  // namespace dovetail::cli
