// What `dovetail schedule` says of its answer, in text and in JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/question/json.h"
#include "cli/answer.h"
#include "cli/load.h"
#include "fuse/solver.h"

namespace dovetail::cli {

/// What is to be solved, and how.
struct Request {
  NamedProblem named;
  const fuse::Solver* solver = nullptr;
  fuse::Bounds bounds;
  std::optional<fuse::Solution> start;
  fuse::SolveOptions options;            ///< without `start`, which moves with the Request
  std::optional<ScheduleFormat> format;  ///< of -o, where a schedule is written to it
};

/// The answer, and how fast the search was (0 for a construction).
struct Run {
  Solved solved;
  double iterations_per_second = 0;
};

/// Whether `solution` ends by the deadline, where one is asked for.
bool meets_deadline(const Request& request, const fuse::Solution& solution);

/// What the schedule costs beside its bounds, and the paths written.
std::string report_text(const Request& request, const Run& run, const std::vector<std::string>& written);
/// The same as dovetail/schedule-report@1; also of a schedule that does not fit or is late.
answer::Json report_json(const Request& request, const Run& run, const std::vector<std::string>& written);

/// What is wrong with a schedule that does not fit, or is late.
std::string infeasible_text(const Request& request, const Solved& solved);

/// What is said where no schedule at all can do what is asked.
struct Impossible {
  std::string text;
  answer::Json json;
};
/// Nothing where some schedule might.
std::optional<Impossible> find_impossible(const Request& request);

}  // namespace dovetail::cli
