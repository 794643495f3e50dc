// Reads problems: files or bundled instances.
#pragma once

#include <string>

#include "answer/question/input.h"
#include "answer/question/watch.h"
#include "base/result.h"
#include "pipeline/problem/problem.h"

namespace dovetail::answer {

/// Problem with the name of its instance or the path of its file.
struct NamedProblem {
  std::string name;
  pipeline::Problem problem;
};

/// Reads the text that `input` holds, standard input for "-", an existing file, or a bundled instance, in this order.
/// Otherwise an Error that suggests similar instances.
base::Result<NamedProblem> read_problem(const Input& input, const Watch& watch);

/// Whether `input` names a bundled instance and no file.
bool is_instance(const Input& input);

}  // namespace dovetail::answer
