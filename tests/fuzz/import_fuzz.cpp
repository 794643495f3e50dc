// Imports the input as a trainer's launch script and as its configuration.
#include "fuzz.h"
#include "trainers/import_run.h"

namespace trainers = dovetail::trainers;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(dovetail::fuzz::as_text(data, size));
  trainers::ImportOptions options;
  options.root = "/no/such/folder";
  for (const char* path :
       {"run.sh", "config.yaml", "verl:config.yaml", "nemo-rl:config.yaml", "roll:config.yaml", "areal:config.yaml"}) {
    const auto import = trainers::import_run(path, text, options);
    if (!import.ok()) {
      DOVETAIL_ASSERT(!import.error().message.empty());
      continue;
    }
    DOVETAIL_ASSERT(import->plan.tasks.size() == import->job.workflow.tasks.size());
    for (const auto* findings : {&import->run.assumed, &import->run.ignored, &import->run.not_modelled})
      for (const trainers::Finding& finding : *findings)
        DOVETAIL_ASSERT(!trainers::finding_text(*import, finding).empty());
  }
  return 0;
}
