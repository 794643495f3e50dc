// Conformance suite of rank programs: cases, and what the stages of an interpreter must produce in each.
// docs/programs.md defines the arithmetic. Expected values come from the problem alone, without programs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pipeline/program/program.h"

namespace dovetail::test {

/// Stages compute with numbers below this prime.
inline constexpr std::uint64_t conformance_prime = 2147483647;
/// Combines two numbers; the order matters.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return ((a + 1) * (b + 2) + 48271 * a) % conformance_prime;
}

/// An op that a rank ran, and its result.
struct ConformanceOp {
  pipeline::OpKind op = pipeline::OpKind::F;
  int stage = 0;  ///< index into Program::stages
  int microbatch = 0;
  std::uint64_t value = 0;
};

/// Everything that a rank did.
struct ConformanceRank {
  std::vector<ConformanceOp> ops;
  std::vector<std::uint64_t> reductions;  ///< [reduction of the program] result
  std::vector<std::uint64_t> weights;     ///< [stage] at the end
  std::vector<std::uint64_t> gradients;   ///< [stage] at the end
};

/// Returns a dovetail/conformance@1 file.
std::string conformance_text(const std::vector<ConformanceRank>& ranks);

struct ConformanceCase {
  std::string name;
  std::vector<pipeline::Program> programs;
  std::vector<ConformanceRank> expected;
};
std::vector<ConformanceCase> conformance_cases();

/// Returns the files of the suite by their paths in its folder: NAME/rank-R.json, NAME/expected.json.
std::map<std::string, std::string> conformance_files();

}  // namespace dovetail::test
