// Processes that share work out agree on what it is.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "parallel/exchange.h"

namespace dovetail::parallel {

/// Whether all processes have read the same `input`. Where not it is the same Error in all: that of the first process
/// that has one, with its rank, or that it reads another one than the first; `another` says of what: "another problem".
base::Status agree_on_input(const Exchange& exchange, const base::Result<std::string>& input, std::string_view another);

}  // namespace dovetail::parallel
