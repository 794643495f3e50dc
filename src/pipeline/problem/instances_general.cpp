#include "pipeline/problem/instances_general.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::pipeline {
namespace {

/// "uneven-stages-3" is of the group "uneven-stages".
InstanceGroup group_of(std::string_view name) {
  const auto group = instance_group_named(name.substr(0, name.rfind('-')));
  DOVETAIL_ASSERT(group.has_value());
  return *group;
}

/// The text of a comment on the first line.
std::string title_of(std::string_view content) {
  constexpr std::string_view mark = "# ";
  DOVETAIL_ASSERT(content.starts_with(mark));
  return std::string(content.substr(mark.size(), content.find('\n') - mark.size()));
}

Instance make_instance(const ExampleFile& file) {
  base::Result<Problem> problem = parse_problem(file.content, std::string(file.name));
  DOVETAIL_ASSERT(problem.ok());
  return {std::string(file.name), title_of(file.content), std::move(problem).value(), {}, group_of(file.name)};
}

}  // namespace

std::vector<Instance> make_general_instances() {
  std::vector<Instance> made;
  for (const ExampleFile& file : general_example_files()) made.push_back(make_instance(file));
  std::sort(made.begin(), made.end(),
            [](const Instance& a, const Instance& b) { return std::tie(a.group, a.name) < std::tie(b.group, b.name); });
  return made;
}

}  // namespace dovetail::pipeline
