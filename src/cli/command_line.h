// What the files of the subcommands know of the library that reads the command line. Its own headers take longer to
// compile than all of ours: arguments.cpp, completion and main include them, nobody else.
#pragma once

#include <functional>

#include "base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;
}

namespace dovetail::cli {

/// Runs a subcommand whose arguments have been read; gives the exit code, or the Error to print.
using Action = std::function<base::Result<int>()>;

}  // namespace dovetail::cli
