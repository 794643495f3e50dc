// An Error on its way between processes.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::runtime {

/// An Error, and the rank that said it.
struct RankError {
  int rank = 0;
  base::Error error;
};

/// All of it as bytes, for a process of the same program.
std::string error_to_bytes(const RankError& error);

/// What error_to_bytes made them of; else an Error that says that these bytes are none.
RankError error_from_bytes(std::string_view bytes);

/// The first line of what libtorch throws: the others are a backtrace.
std::string reason_of(const std::exception& error);

}  // namespace dovetail::runtime
