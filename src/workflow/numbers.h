// Numbers of a file that are not whole.
#pragma once

#include <string_view>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::workflow {

/// A number in [least, most], to the nearest double; else an Error at `node` that names `what` and the range.
base::Result<double> read_number(const base::Node& node, std::string_view what, double least, double most);

}  // namespace dovetail::workflow
