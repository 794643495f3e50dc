// Number of cases that a test tries. It is lower with sanitizers, which make everything ten times slower: fewer cases
// find the same faults.
#pragma once

#include <cstdlib>

namespace dovetail::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// Returns `all`, or a fifth of it under the sanitizers. The environment variable DOVETAIL_TEST_EFFORT, an integer,
/// multiplies it.
template <class Number>
Number effort(Number all) {
  const char* const factor = std::getenv("DOVETAIL_TEST_EFFORT");
  return (sanitized ? all / 5 : all) * static_cast<Number>(factor == nullptr ? 1 : std::atoi(factor));
}

}  // namespace dovetail::test
