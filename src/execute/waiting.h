// Stages that wait in place of computing: a schedule replayed at its own times, without a model.
#pragma once

#include <memory>
#include <vector>

#include "execute/interpreter.h"
#include "execute/pace.h"
#include "pipeline/program/placement.h"

namespace dovetail::execute {

/// How a problem is replayed.
struct Replay {
  transport::Clock::duration tick{};  ///< what a tick of the problem's durations takes
  std::size_t message_bytes = 0;      ///< of each activation and gradient; a few more where they do not hold a time
};

/// The workers of a rank whose ops last as long as the problem says, and whose reductions only meet. A message can be
/// taken once the transfer between its devices has passed since it was made; meanwhile its sender goes on. REQUIRES:
/// the ranks are on one machine: messages say when they were made, by its clock.
class WaitingWorkers {
 public:
  WaitingWorkers(const pipeline::Problem& problem, const pipeline::Placement& placement,
                 const pipeline::Program& program, const Replay& replay);
  /// Points at what this owns.
  const Workers& workers() const { return workers_; }

 private:
  std::unique_ptr<Pace> pace_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::unique_ptr<Reducer> reducer_;
  Workers workers_;
};

}  // namespace dovetail::execute
