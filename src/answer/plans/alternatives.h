// Alternatives to a trainer's configuration: the same job with another backend or mode.
#pragma once

#include <string>
#include <vector>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "base/result.h"
#include "trainers/changed_base.h"

namespace dovetail::answer {

/// Reads the content of a trainer's configuration and completes its import options with lengths (options_with_lengths).
base::Result<trainers::ExportBase> read_base(const JobInput& input, const Callbacks& callbacks);

/// Parses the values of --allow. Each value is "backend", "mode", or both separated by a comma. Repetitions have no
/// effect. Any other value is an Error.
base::Result<trainers::Allowed> allowed_of(const std::vector<std::string>& entries);

/// A trainer's configuration of the job, unchanged or with another backend or mode.
struct Alternative {
  std::string name;  ///< name of the trainers::SwitchedBase
  std::vector<trainers::Change> changes;
  JobInput input;         ///< the changed configuration
  std::string rejection;  ///< why the trainer cannot run it; empty: it can
};

/// Returns all allowed alternatives. The unchanged configuration comes first, with the name "as configured". Errors:
/// the input cannot be read or is not a trainer's configuration, or its trainer supports none of the allowed changes.
base::Result<std::vector<Alternative>> list_alternatives(const JobInput& input, const trainers::Allowed& allowed,
                                                         const Callbacks& callbacks);

}  // namespace dovetail::answer
