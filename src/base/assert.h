// Assertions of Dovetail's own invariants. They stay enabled in release builds: a broken invariant is always a bug.
#pragma once

namespace dovetail::base {

/// Prints the condition and its source location to stderr and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace dovetail::base

/// Aborts if `condition` is false, in every build type.
#define DOVETAIL_ASSERT(condition)                     \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::dovetail::base::assertion_failed(#condition, __FILE__, __LINE__))
