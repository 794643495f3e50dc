// Changes of a job's text that leave all else of it as it was.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::plan {

/// Of a line and a column, both from 1.
std::size_t offset_of(std::string_view content, int line, int column);

/// `content` with `said` in place of the scalar `node`, which was parsed from it. Where the scalar is written in
/// another way than as one plain or quoted text, what comes out does not parse to it.
std::string with_scalar(std::string_view content, const base::Node& node, std::string_view said);

/// `content`, a job as YAML or JSON at `path`, on one node with so many devices. An Error where its cluster is no sound
/// one, has groups, or says its devices in another way than as plain numbers.
base::Result<std::string> job_on_devices(std::string_view content, const std::string& path, int devices);

}  // namespace dovetail::plan
