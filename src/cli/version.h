// What this binary is and what it was built with.
#pragma once

#include <string>

namespace dovetail::cli {

/// The text of --version.
std::string version_text();

}  // namespace dovetail::cli
