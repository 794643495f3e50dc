#include "pipeline/problem/instances_general.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::pipeline {
namespace {

const std::string folder = std::string(DOVETAIL_SOURCE_DIR) + "/examples/general";

std::vector<Instance> of_group(InstanceGroup group) {
  std::vector<Instance> found;
  std::copy_if(instances().begin(), instances().end(), std::back_inserter(found),
               [group](const Instance& instance) { return instance.group == group; });
  return found;
}

bool any_model(const Problem& problem, bool (*is)(const Model&)) {
  return std::any_of(problem.models.begin(), problem.models.end(), is);
}
bool all_models(const Problem& problem, bool (*are)(const Model&)) {
  return std::all_of(problem.models.begin(), problem.models.end(), are);
}

TEST(GeneralInstances, AreTheFilesOfTheExamples) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    const auto content = base::read_file(entry.path().string());
    ASSERT_TRUE(content.ok());
    const auto bundled = std::find_if(general_example_files().begin(), general_example_files().end(),
                                      [&name](const ExampleFile& file) { return file.name == name; });
    ASSERT_NE(bundled, general_example_files().end());
    EXPECT_EQ(bundled->content, *content);
    const Instance* instance = find_instance(name);
    ASSERT_NE(instance, nullptr);
    EXPECT_EQ(instance->problem, *parse_problem(*content, name));
    EXPECT_EQ("# " + instance->summary, content->substr(0, content->find('\n')));
    ++files;
  }
  EXPECT_EQ(files, 30U);
  EXPECT_EQ(general_example_files().size(), files);
}

TEST(GeneralInstances, AreFiveOfEachGroupInOrder) {
  for (const InstanceGroup group : instance_groups) {
    if (group < InstanceGroup::three_models) continue;
    const std::vector<Instance> found = of_group(group);
    ASSERT_EQ(found.size(), 5U) << name_of(group);
    for (int i = 0; i < 5; ++i) {
      const Instance& instance = found[static_cast<std::size_t>(i)];
      EXPECT_EQ(instance.name, std::string(name_of(group)) + "-" + std::to_string(i + 1));
      EXPECT_FALSE(instance.published);
      EXPECT_LE(instance.summary.size(), 100U) << instance.name;  // a table of them has to fit a screen
    }
  }
  EXPECT_TRUE(std::is_sorted(instances().begin(), instances().end(),
                             [](const Instance& a, const Instance& b) { return a.group < b.group; }));
}

TEST(GeneralInstances, HaveWhatTheirGroupIsAbout) {
  for (const Instance& instance : of_group(InstanceGroup::three_models))
    EXPECT_GE(instance.problem.models.size(), 3U) << instance.name;
  for (const Instance& instance : of_group(InstanceGroup::uneven_stages))
    EXPECT_TRUE(any_model(instance.problem, [](const Model& model) {
      return model.forward != std::vector(model.forward.size(), model.forward[0]);
    })) << instance.name;
  for (const Instance& instance : of_group(InstanceGroup::transfer))
    EXPECT_TRUE(all_models(instance.problem, [](const Model& model) { return model.transfer_forward[0] > Ticks(0); }))
        << instance.name;
  for (const Instance& instance : of_group(InstanceGroup::split_backward))
    EXPECT_TRUE(any_model(instance.problem, [](const Model& model) { return model.split(); })) << instance.name;
  for (const Instance& instance : of_group(InstanceGroup::minibatches))
    EXPECT_TRUE(all_models(instance.problem, [](const Model& model) {
      return model.minibatches > 1 && model.step[0] > Ticks(0);
    })) << instance.name;
  for (const Instance& instance : of_group(InstanceGroup::capacity))
    EXPECT_TRUE(instance.problem.capacity) << instance.name;
}

TEST(InstanceGroups, HaveNames) {
  for (const InstanceGroup group : instance_groups) EXPECT_EQ(instance_group_named(name_of(group)), group);
  EXPECT_EQ(instance_group_named("exp"), std::nullopt);
}

}  // namespace
}  // namespace dovetail::pipeline
