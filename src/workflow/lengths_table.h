// Measured lengths from a table: a column of a CSV file, or a key of a JSONL file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "workflow/lengths.h"

namespace dovetail::workflow {

/// Reads the lengths, in tokens, whole numbers from 0 to max_length, one in each row; `path` is for messages. A file
/// whose first character is `{` is JSONL (an object in each line), any other CSV with a header, or with a single column
/// of numbers and none. `column` is the name of the column or key; where it is empty, the file has a single one, or a
/// single one with `length` or `tokens` in its name. Errors have the place of the cell: a column that is not there or
/// cannot be chosen, a row without a length or with another thing; a file without lengths.
base::Result<LengthDistribution> parse_length_table(std::string_view content, const std::string& path,
                                                    std::string_view column);

}  // namespace dovetail::workflow
