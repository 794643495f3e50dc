// What becomes of an Error at the end of a program.
#pragma once

#include <string_view>

#include "base/result.h"

namespace dovetail::cli {

/// The exit code of a kind of failure.
int exit_code_of(base::Failure failure);

/// Prints the error on standard error, and returns the exit code of its kind. One with a path starts with it, so that
/// editors can jump to the place; others with the name of the program.
int report_failure(const base::Error& error, std::string_view program);

}  // namespace dovetail::cli
