// The bundled problems beyond what the published work expresses: the files of examples/general, as they were at build
// time.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "pipeline/problem/instances.h"

namespace dovetail::pipeline {

/// A file of examples/general: its name without the ending, and its text.
struct ExampleFile {
  std::string_view name;
  std::string_view content;
};

/// All files of examples/general, in order of their names. The source is made when the library is built.
std::span<const ExampleFile> general_example_files();

/// The problems of those files, group by group in the order of InstanceGroup, then by name. The group is the name
/// without its number, the summary the comment on the first line.
std::vector<Instance> make_general_instances();

}  // namespace dovetail::pipeline
