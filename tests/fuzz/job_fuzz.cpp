// Parses a job. Checks that it is complete, and that its simplest plan can be written, read back and timed.
#include "fuzz.h"
#include "plan/job_file.h"
#include "plan/pin.h"
#include "plan/plan_file.h"
#include "plan/timing.h"

namespace plan = dovetail::plan;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A path in a nonexistent folder, so that files named by the job are not found.
  const auto job = plan::parse_job(dovetail::fuzz::as_text(data, size), "/nowhere/input.yaml");
  if (!job.ok()) {
    DOVETAIL_ASSERT(!job.error().message.empty());
    return 0;
  }
  DOVETAIL_ASSERT(job->models.size() == job->workflow.roles.size() && !job->name.empty());
  for (const auto& model : job->models) DOVETAIL_ASSERT(!dovetail::llm::find_fault(model).has_value());
  DOVETAIL_ASSERT(job->workload.samples() >= 1 && dovetail::cluster::device_count(job->cluster) >= 1);
  DOVETAIL_ASSERT(job->fixed.empty() || job->fixed.size() == job->workflow.tasks.size());
  for (std::size_t task = 0; task < job->fixed.size(); ++task)
    if (job->workflow.tasks[task].kind != dovetail::workflow::TaskKind::rule)
      DOVETAIL_ASSERT(
          !plan::find_fault(job->fixed[task], plan::model_of(*job, dovetail::workflow::TaskId(task)), job->cluster));

  plan::TaskPlan on_the_first_device;
  on_the_first_device.mesh = {0, 1};
  on_the_first_device.micro_batching.count = 1;
  plan::Plan made{"custom", {}};
  for (const auto& task : job->workflow.tasks)
    made.tasks.push_back(task.kind == dovetail::workflow::TaskKind::rule ? plan::TaskPlan{} : on_the_first_device);
  for (std::size_t task = 0; task < made.tasks.size(); ++task)
    if (job->workflow.tasks[task].kind == dovetail::workflow::TaskKind::generate) made.tasks[task].micro_batching = {};
  DOVETAIL_ASSERT(!plan::find_fault(made, *job).has_value());
  const auto read = plan::parse_plan(plan::plan_to_json(made, *job), "plan", *job);
  DOVETAIL_ASSERT(read.ok() && *read == made);

  // Off-policy iterations are simulated by the thousand.
  if (job->workload.steps_off_policy > 10) return 0;
  const plan::IterationGraph graph = plan::iteration_graph(*job, made);
  const std::vector<dovetail::base::Ticks> durations(graph.activities.size(), dovetail::base::Ticks(1));
  DOVETAIL_ASSERT(plan::time_iterations(graph, *job, made, durations).period.count() >= 0);
  return 0;
}
