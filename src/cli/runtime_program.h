// dovetail-train, the program that has the tensors and the processes of ranks.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dovetail::cli {

/// Its path: beside this program, or on the PATH. An Error where it is in neither, which says what to install.
base::Result<std::string> find_runtime();

/// Becomes the program words[0], with the other words as its arguments. Only an Error comes back: it cannot be run.
base::Error become_program(std::vector<std::string> words);

}  // namespace dovetail::cli
