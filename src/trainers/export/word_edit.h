// Words of a command in a launch script, changed where they stand: all else of the script stays as it is.
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

/// The script with the changes: a flag that `launch` has gets the value in its place, or goes with its value, and with
/// its line where it is alone there. Others, and those that an expansion gives or another file has, come behind the
/// last word of the command, or of its last array, where the last one counts. Flags are known by their older names, and
/// by `--no-x`, too. An Error where a flag that goes does not stand in words of its own, or one of another file would
/// still be the last.
base::Result<std::string> edit_flags(std::string_view script, const syntax::Launch& launch,
                                     std::span<const syntax::Flag> flags, const std::vector<Change>& changes,
                                     const std::vector<std::string>& sources);

/// The same of a command whose words are Hydra's overrides ("key=value"), and options of it ("--config-name").
base::Result<std::string> edit_overrides(std::string_view script, const syntax::Launch& launch,
                                         const std::vector<Change>& changes, const std::vector<std::string>& sources);

/// The setting that a word of the command is about, "trainer.nnodes", or its option, "--config-name"; empty: none.
std::string_view override_name(const syntax::Word& word);

}  // namespace dovetail::trainers
