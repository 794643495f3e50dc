// Random shell scripts within the subset that the evaluator computes, for comparison with bash.
#pragma once

#include <cstdint>
#include <string>

namespace dovetail::syntax {

/// Returns a short, self-contained script that calls `mark` with its results.
std::string random_script(std::uint64_t seed);

}  // namespace dovetail::syntax
