// Imports the configuration of a trainer as a job and a plan.
#pragma once

#include <concepts>
#include <string>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "trainers/import_run.h"

namespace dovetail::answer {

struct ImportRequest {
  JobInput job;
};
template <std::same_as<ImportRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, "launch script or configuration (FILE or TRAINER:FILE), '-': stdin"));
}

struct ImportAnswer {
  trainers::Import import;
  Outcome outcome = Outcome::done;
};

/// Errors: input that cannot be read, or that is a job file.
base::Result<ImportAnswer> answer_to(const ImportRequest& request, const Callbacks& callbacks);

/// Returns the content of the job file to write to `target`. Relative paths in it start at the folder of `target`. If
/// `target` is "-", they start at the folder of the trainer's configuration.
base::Result<std::string> job_file(const ImportAnswer& answer, const std::string& target);
/// The plan as a dovetail/plan@1 file.
std::string plan_file(const ImportAnswer& answer);

/// Imported job and plan, and the settings that were assumed, ignored or not modeled.
Sections sections(const ImportAnswer& answer);
/// A dovetail/import@1 object.
std::string to_json(const ImportAnswer& answer);

}  // namespace dovetail::answer
