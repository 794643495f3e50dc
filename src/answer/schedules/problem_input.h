// Problems as requests name them: a file, or a bundled instance.
#pragma once

#include <string>

#include "answer/question/input.h"
#include "answer/question/watch.h"
#include "base/result.h"
#include "pipeline/problem/problem.h"

namespace dovetail::answer {

/// A problem, and what to call it: the instance's name or the file's path.
struct NamedProblem {
  std::string name;
  pipeline::Problem problem;
};

/// Reads the problem that `input` names: the text that it holds, "-" for standard input, an existing file, or a bundled
/// instance, in this order. A name that is none of them is an Error that names the nearest instances.
base::Result<NamedProblem> read_problem(const Input& input, const Watch& watch);

/// Whether `input` is the name of a bundled instance and of no file.
bool is_instance(const Input& input);

}  // namespace dovetail::answer
