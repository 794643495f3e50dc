// Distributions of lengths in job files.
//
//   512                                                 all lengths equal
//   {p50: 800, p90: 2100, p99: 4096, cap: 4096, at_cap: 0.03}
//   {mean: 1060, sigma: 0.8, cap: 4096}                 both maps: statistics of the lengths; find_fault in
//                                                       log_normal.h lists the combinations
//   {file: lengths.csv, column: response_tokens}        measured lengths in a CSV or JSONL file; without `column`,
//                                                       parse_length_table chooses it
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "workflow/lengths.h"

namespace dovetail::workflow {

/// Reads a distribution in one of the forms above. `what` names it in messages ("`response_length`"). A relative `file`
/// is resolved from `directory` (empty: the working directory). Every mistake is an Error at its line and column, in
/// the job file or in the table. A file that cannot be read is a Failure::io at its name in the job file.
base::Result<LengthDistribution> read_lengths(const base::Node& node, std::string_view what,
                                              const std::string& directory);

/// Reads a table with a length in tokens in each row, an integer from 0 to max_length. `path` is for messages.
///
/// If the first non-blank character is `{`, the file is JSONL with an object on each line. Otherwise it is CSV with a
/// header, or a single column of numbers without one. `column` names the column (CSV) or key (JSONL). If `column` is
/// empty and there are several columns, exactly one must have `length` or `tokens` in its name. In JSONL, the first
/// object decides the key, and without `column` only keys with numbers count.
///
/// Returns an Error at the header (CSV) or at the object (JSONL) if the column is missing or ambiguous, and at the cell
/// or row if a length is missing or invalid. A table without a length above 0 is an Error at its beginning.
base::Result<LengthDistribution> parse_length_table(std::string_view content, const std::string& path,
                                                    std::string_view column);

}  // namespace dovetail::workflow
