// Flags of a command in a launch script, changed where they stand: all else of the script stays as it is.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/export/change.h"
#include "trainers/shell/launch.h"
#include "trainers/syntax/arguments.h"

namespace dovetail::trainers {

/// The script with the changes: a flag that `launch` has gets the value in its place, or goes, with its line where it
/// is alone there; others come behind the last word of the command. Flags are known by their older names, too. An Error
/// where a flag stands in another file that the script reads.
base::Result<std::string> edit_flags(std::string_view script, const Launch& launch, std::span<const Flag> flags,
                                     const std::vector<Change>& changes, const std::vector<std::string>& sources);

}  // namespace dovetail::trainers
