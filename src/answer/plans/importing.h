// The configuration of a trainer, read as a job and a plan.
#pragma once

#include <concepts>
#include <string>

#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "answer/question/watch.h"
#include "trainers/import_run.h"

namespace dovetail::answer {

struct ImportRequest {
  JobInput job;
};
template <std::same_as<ImportRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{},
             "launch script or configuration of verl, NeMo-RL, OpenRLHF, AReaL, ROLL or slime ('verl:FILE', 'roll:FILE'"
             ": whose), '-' for standard input"));
}

struct ImportAnswer {
  trainers::Import import;
  Outcome outcome = Outcome::done;
};

/// Errors of what is read; a job file is one, too.
base::Result<ImportAnswer> ask(const ImportRequest& request, const Watch& watch);

/// The job as a file at `target`: relative paths lead from there.
base::Result<std::string> job_file(const ImportAnswer& answer, const std::string& target);
/// The plan as dovetail/plan@1.
std::string plan_file(const ImportAnswer& answer);

/// What it was read as, how its tasks run, and what was assumed, ignored and not modelled.
Sections sections(const ImportAnswer& answer);
/// A dovetail/import@1 object.
std::string to_json(const ImportAnswer& answer);

}  // namespace dovetail::answer
