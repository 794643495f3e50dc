// Alternatives to a trainer's configuration: the same job with another backend or mode.
#pragma once

#include <string>
#include <vector>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "base/result.h"
#include "trainers/changed_base.h"

namespace dovetail::answer {

/// Reads a trainer's configuration and its import options.
base::Result<trainers::ExportBase> read_base(const JobInput& input, const Callbacks& callbacks);

/// Parses the values of --allow. Each is "backend", "mode" or both separated by a comma, and may repeat. Any other
/// value is an Error.
base::Result<trainers::Allowed> allowed_of(const std::vector<std::string>& entries);

/// A configuration that runs the job.
struct Alternative {
  std::string name;  ///< name of the trainers::SwitchedBase
  std::vector<trainers::Change> changes;
  JobInput input;         ///< the changed configuration
  std::string rejection;  ///< why the trainer cannot run it; empty: it can
};

/// Returns all allowed alternatives. The unchanged configuration comes first, with the name "as configured". Errors:
/// the input is not a trainer's configuration, or its trainer has no alternative.
base::Result<std::vector<Alternative>> list_alternatives(const JobInput& input, const trainers::Allowed& allowed,
                                                         const Callbacks& callbacks);

}  // namespace dovetail::answer
