// Distributions of lengths as a job file gives them.
//
//   512                                               every length the same
//   {p50: 800, p90: 2100, p99: 4096, cap: 4096, at_cap: 0.03}
//   {mean: 1060, sigma: 0.8, cap: 4096}               figures of log-normal lengths (log_normal.h says which go
//                                                     together)
//   {file: lengths.csv, column: response_tokens}      measured lengths, CSV or JSONL; without `column` it is inferred
//                                                     (lengths_table.h)
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "workflow/lengths.h"

namespace dovetail::workflow {

/// Reads a distribution in one of the forms above. `what` names it in messages ("`response_length`"). A relative `file`
/// is relative to `directory` (empty: the working directory). Every mistake is an Error at its line and column, in the
/// job file or in the file of lengths; a file that cannot be read is a Failure::io at its name in the job file.
base::Result<LengthDistribution> read_lengths(const base::Node& node, std::string_view what,
                                              const std::string& directory);

}  // namespace dovetail::workflow
