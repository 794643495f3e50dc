// In-place edits of the words of a command in a launch script. The rest of the script is unchanged.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/arguments.h"
#include "syntax/shell/launch.h"
#include "trainers/export/change.h"

namespace dovetail::trainers {

/// Returns the script with the changes. A flag written in the command gets its new value in place, or is removed with
/// its value. A line that becomes empty is removed too. A flag that is missing, or that comes from an expansion or
/// another file, is added after the command's last argument from the script itself, which may be in an array. The last
/// occurrence of a flag counts. Older names of flags and `--no-x` are recognized. Returns an Error if a flag to be
/// removed is not written as separate words, if an occurrence in another file would come after an added one, or if the
/// script itself contains no argument of the command.
base::Result<std::string> edit_flags(std::string_view script, const syntax::Launch& launch,
                                     std::span<const syntax::Flag> flags, const std::vector<Change>& changes,
                                     const std::vector<std::string>& sources);

/// Like edit_flags, for a command with Hydra overrides ("key=value") and options ("--config-name").
base::Result<std::string> edit_overrides(std::string_view script, const syntax::Launch& launch,
                                         const std::vector<Change>& changes, const std::vector<std::string>& sources);

/// Returns the key of an override, "trainer.nnodes", or the name of an option, "--config-name"; empty for other words.
std::string_view override_name(const syntax::Word& word);

}  // namespace dovetail::trainers
