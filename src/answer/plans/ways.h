// Other ways in which a trainer runs the job of its configuration, as inputs of questions.
#pragma once

#include <string>
#include <vector>

#include "answer/question/input.h"
#include "answer/question/watch.h"
#include "base/result.h"
#include "trainers/changed_base.h"

namespace dovetail::answer {

/// The configuration that a question is about, with what is said beside it.
base::Result<trainers::ExportBase> read_base(const JobInput& input, const Watch& watch);

/// "backend", "mode" or both with a comma between, each as often as somebody says it. An Error for any other word.
base::Result<trainers::Allowed> allowed_of(const std::vector<std::string>& words);

/// A way to run the job.
struct WayInput {
  std::string name;  ///< as trainers::SwitchedBase has it
  std::vector<trainers::Change> changes;
  JobInput input;       ///< the configuration with them
  std::string refusal;  ///< why the trainer does not run it; empty: it does
};

/// All that is allowed; the configuration itself comes first, as "as it is". An Error where the input is no
/// configuration of a trainer, or where its trainer has no other way.
base::Result<std::vector<WayInput>> way_inputs(const JobInput& input, const trainers::Allowed& allowed,
                                               const Watch& watch);

}  // namespace dovetail::answer
