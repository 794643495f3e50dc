// The folder that a job file's relative paths start from, and edits of its text that leave the rest unchanged.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::plan {

/// Returns the folder that relative paths of the job start from: the value of `folder`, which is itself relative to the
/// folder of the job file at `path`. Without `folder`, returns the folder of the job file. An Error if `folder` is not
/// a string or is empty.
base::Result<std::string> read_job_folder(const base::Node& root, const std::string& path);

/// Returns the job `content` (YAML or JSON, at `path`) for a copy in the folder `target`: replaces the value of
/// `folder`, or adds it, so that relative paths still lead to the same files. An Error if `folder` is given as anything
/// other than one plain or quoted string. REQUIRES: the content is a map with at least one key, and its folder is
/// valid.
base::Result<std::string> job_seen_from(std::string_view content, const std::string& path, const std::string& target);

/// Returns the offset in bytes of a position in `content`. `line` and `column` start at 1.
std::size_t offset_of(std::string_view content, int line, int column);

/// Returns `content` with `value` in place of the scalar `node`, which was parsed from `content`. If the scalar is not
/// one plain or quoted string, the result does not parse to `value`.
std::string with_scalar(std::string_view content, const base::Node& node, std::string_view value);

/// Returns the job `content` (YAML or JSON, at `path`) with one node of `devices` devices. An Error if the job's
/// `cluster` does not give `nodes` and `gpus_per_node` as plain numbers, for example because it lists groups of nodes
/// or is a path.
base::Result<std::string> job_on_devices(std::string_view content, const std::string& path, int devices);

}  // namespace dovetail::plan
