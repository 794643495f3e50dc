// dovetail/pipeline-problem@1: reading and writing problems. The format is in docs/formats.md.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "pipeline/problem/problem.h"

namespace dovetail::pipeline {

inline constexpr std::string_view problem_format = "dovetail/pipeline-problem@1";

/// Reads a problem from YAML or JSON text; `path` is for messages. Every mistake is an Error at its line and column.
base::Result<Problem> parse_problem(std::string_view content, const std::string& path);

/// The problem in a document's value (a schedule file embeds one).
base::Result<Problem> read_problem(const base::Node& node);

/// The problem as YAML that parse_problem reads back to an equal Problem: one number where all stages are alike.
std::string problem_to_yaml(const Problem& problem);

/// The same as one JSON object without a line break at its end; `indent` spaces more stand before every line but the
/// first.
std::string problem_to_json(const Problem& problem, int indent = 0);

}  // namespace dovetail::pipeline
