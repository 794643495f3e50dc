// Random shell scripts out of what the evaluator computes: bash and the evaluator must reach the same.
#pragma once

#include <cstdint>
#include <string>

namespace dovetail::syntax {

/// A script that ends soon, depends on nothing around it, and calls `mark` with words that show what it computed.
std::string random_script(std::uint64_t seed);

}  // namespace dovetail::syntax
