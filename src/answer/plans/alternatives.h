// Alternative ways in which a trainer can run the job of its configuration.
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

/// Parses words: each is "backend", "mode" or both separated by a comma, and may repeat. Any other word is an Error.
base::Result<trainers::Allowed> allowed_of(const std::vector<std::string>& entries);

/// One way to run the job.
struct Alternative {
  std::string name;  ///< name of the trainers::SwitchedBase
  std::vector<trainers::Change> changes;
  JobInput input;         ///< the changed configuration
  std::string rejection;  ///< why the trainer cannot run it; empty: it can
};

/// Returns all allowed ways. The unchanged configuration comes first, as "as configured". An Error if the input is not
/// a trainer's configuration, or if its trainer has no other way.
base::Result<std::vector<Alternative>> list_alternatives(const JobInput& input, const trainers::Allowed& allowed,
                                                         const Callbacks& callbacks);

}  // namespace dovetail::answer
