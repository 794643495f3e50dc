// Reads a job with a section `train`; what is read has a hash, and an optimizer for each role that is trained.
#include "base/hash.h"
#include "control/run_settings.h"
#include "fuzz.h"
#include "plan/job_file.h"

namespace control = dovetail::control;
namespace workflow = dovetail::workflow;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = "/nowhere/input.yaml";
  const auto content = dovetail::fuzz::as_text(data, size);
  const auto job = dovetail::plan::parse_job(content, path);
  if (!job.ok()) return 0;
  const auto document = dovetail::base::parse_yaml_or_json(content, path);
  const auto run = control::read_run(document->root(), path, job->workflow);
  if (!run.ok()) {
    DOVETAIL_ASSERT(!run.error().message.empty());
    return 0;
  }
  DOVETAIL_ASSERT(run->iterations.has_value() != run->epochs.has_value());
  for (const workflow::Task& task : job->workflow.tasks)
    if (task.kind == workflow::TaskKind::train) DOVETAIL_ASSERT(run->optimizer.contains(task.role));
  DOVETAIL_ASSERT(dovetail::base::is_sha256_hex(control::hash_of(*run)));
  return 0;
}
