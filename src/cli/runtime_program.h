// dovetail-train, the program that has the tensors and the processes of ranks.
#pragma once

#include <string>

#include "base/result.h"

namespace dovetail::cli {

/// Its path: beside this program, or on the PATH. An Error where it is in neither, which says what to install.
base::Result<std::string> find_runtime();

}  // namespace dovetail::cli
