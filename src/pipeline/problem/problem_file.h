// Reads and writes dovetail/pipeline-problem@1 files. The format is described in docs/formats.md.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

inline constexpr std::string_view problem_format = "dovetail/pipeline-problem@1";

/// Reads a problem from YAML or JSON text. `path` appears in messages. Every mistake is an Error at its line and
/// column.
base::Result<Problem> parse_problem(std::string_view content, const std::string& path);

/// Reads a problem from a value inside another document, such as a schedule file.
base::Result<Problem> read_problem(const base::Node& node);

/// Returns YAML that parse_problem reads back to an equal Problem. A list of equal times or amounts is written as one
/// number.
std::string problem_to_yaml(const Problem& problem);

/// Returns the problem as one JSON object without a final line break. Lines after the first are indented by `indent`
/// more spaces.
std::string problem_to_json(const Problem& problem, int indent = 0);

}  // namespace dovetail::pipeline
