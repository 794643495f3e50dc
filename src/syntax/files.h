// Files that a configuration is made of: who reads them, their paths, and errors about what they leave unknown.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/text.h"

namespace dovetail::syntax {

/// The content of the file at a path, or why it is not to be had.
using FileReader = std::function<base::Result<std::string>(const std::string& path)>;

/// Reads regular files that lie below the folder `root` once links are followed; every other path is an Error.
FileReader read_below(const std::string& root);

/// A path below a folder, without `.` and `..`.
std::string join_path(std::string_view folder, std::string_view path);
/// The folder of a path, as `dirname` has it.
std::string folder_of(std::string_view path);
/// The last name of a path without a suffix, as `basename` has it.
std::string name_of(std::string_view path, std::string_view suffix);

/// An Error at a place in one of the sources.
base::Error place_error(const std::vector<std::string>& sources, const Place& place, std::string message);

/// An Error at the place of something unknown that matters; it says how to decide it (`--env NAME=VALUE`).
base::Error unknown_error(const std::vector<std::string>& sources, const Unknown& unknown);

}  // namespace dovetail::syntax
