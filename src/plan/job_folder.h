// Where the relative paths of a job begin.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::plan {

/// The job's `folder`, which itself begins in that of its file; without it, that one. `path` is the file's. An Error
/// where `folder` is no text that a path can be.
base::Result<std::string> read_job_folder(const base::Node& root, const std::string& path);

/// `content`, a job as YAML or JSON at `path`, with `folder` said anew, so that its relative paths lead from `target`,
/// the folder of a file that it is copied to, to where they lead now. All else stays as it is. An Error where
/// `folder` is written in another way than as one plain or quoted text. REQUIRES: it is a map with at least one key,
/// whose folder is sound.
base::Result<std::string> job_seen_from(std::string_view content, const std::string& path, const std::string& target);

}  // namespace dovetail::plan
