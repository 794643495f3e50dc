// The configuration that a trainer prints when it starts, at the head of its log.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

/// Whether a log has an object with the member `key`, as Python prints it.
bool has_printed_configuration(std::string_view content, std::string_view key);

/// The first such object, which may stand on many lines, as pprint breaks it: those of one process, without what Ray
/// puts before them, with lines of others between. Its places are those of the log, in source 0. An Error at the place
/// where it does not end, or is no object as Python prints one. REQUIRES: has_printed_configuration(content, key).
base::Result<syntax::Setting> read_printed_configuration(std::string_view content, const std::string& path,
                                                         std::string_view key);

}  // namespace dovetail::trainers
