// Assertions of our own invariants. They stay on in release builds: a broken invariant is a bug, never the user's
// fault.
#pragma once

namespace dovetail::base {

/// Prints the condition and its place on stderr and aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace dovetail::base

/// Aborts when `condition` is false, in every build type.
#define DOVETAIL_ASSERT(condition)                     \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::dovetail::base::assertion_failed(#condition, __FILE__, __LINE__))
