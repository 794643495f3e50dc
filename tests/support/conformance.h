// The conformance suite of rank programs: cases, and what an interpreter's stages must make in each. docs/programs.md
// has the arithmetic. What is expected comes from the problem alone, without programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pipeline/program/program.h"

namespace dovetail::test {

/// The numbers that stages compute with are below this prime.
inline constexpr std::uint64_t conformance_prime = 2147483647;
/// What becomes of two numbers; not of the other way round.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return ((a + 1) * (b + 2) + 48271 * a) % conformance_prime;
}

/// An op that a rank ran, and what it made.
struct ConformanceOp {
  pipeline::OpKind op = pipeline::OpKind::F;
  int stage = 0;  ///< into Program::stages
  int microbatch = 0;
  std::uint64_t value = 0;
};

/// All that a rank has done.
struct ConformanceRank {
  std::vector<ConformanceOp> ops;
  std::vector<std::uint64_t> reductions;  ///< [reduction of the program] its result
  std::vector<std::uint64_t> weights;     ///< [stage] at the end
  std::vector<std::uint64_t> gradients;   ///< [stage] likewise
};

/// A dovetail/conformance@1 file.
std::string conformance_text(const std::vector<ConformanceRank>& ranks);

struct ConformanceCase {
  std::string name;
  std::vector<pipeline::Program> programs;
  std::vector<ConformanceRank> expected;
};
std::vector<ConformanceCase> conformance_cases();

/// The suite's files by their paths in its folder: NAME/rank-R.json, NAME/expected.json.
std::map<std::string, std::string> conformance_files();

}  // namespace dovetail::test
