// Files of a configuration: readers, paths, and Errors with a location.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/text.h"

namespace dovetail::syntax {

/// Returns the content of the file at `path`, or an Error that says why it cannot be read.
using FileReader = std::function<base::Result<std::string>(const std::string& path)>;

/// Returns a reader of regular files below the folder `root`. It resolves symbolic links first, and returns an Error
/// for any other path.
FileReader read_below(const std::string& root);

/// Returns `folder` followed by `path`, or `path` alone if it is absolute or `folder` is empty. Resolves `.` and `..`
/// without reading the file system. A relative result keeps its leading `..`.
std::string join_path(std::string_view folder, std::string_view path);
/// Returns the folder of a path, like `dirname`.
std::string folder_of(std::string_view path);
/// Returns the last component of a path without `suffix`, like `basename`.
std::string name_of(std::string_view path, std::string_view suffix);

/// Returns an Error at a place in one of the sources.
base::Error place_error(const std::vector<std::string>& sources, const Place& place, std::string message);

/// Returns the Error for a value that is needed but unknown. Its message names the option that sets the value (`--env
/// NAME=VALUE`), if there is one.
base::Error unknown_error(const std::vector<std::string>& sources, const Unknown& unknown);

}  // namespace dovetail::syntax
