#include "pipeline/problem/instances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "base/document.h"
#include "base/file.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::pipeline {
namespace {

using base::Document;
using base::Node;

const std::string json_path = std::string(DOVETAIL_SOURCE_DIR) + "/tests/data/flexfusion/instances.json";

Document load_json() {
  const auto content = base::read_file(json_path);
  EXPECT_TRUE(content.ok());
  auto document = base::parse_json(*content, "instances.json");
  EXPECT_TRUE(document.ok());
  return std::move(document).value();
}

Node at(const Node& map, std::string_view key) { return map.find(key).value(); }
int whole_at(const Node& map, std::string_view key) { return std::stoi(std::string(at(map, key).text())); }
Memory memory_at(const Node& map, std::string_view key) { return base::parse_memory(at(map, key).text()).value(); }

void expect_model(const Model& model, const Node& facts, std::string_view name) {
  EXPECT_EQ(model.name, name);
  EXPECT_EQ(model.stages(), whole_at(facts, "stages"));
  EXPECT_EQ(model.microbatches, whole_at(facts, "microbatches"));
  EXPECT_EQ(model.minibatches, 1);
  EXPECT_FALSE(model.split());
  EXPECT_FALSE(model.has_steps());
  for (std::size_t stage = 0; stage < model.forward.size(); ++stage) {
    EXPECT_EQ(model.forward[stage], Ticks(whole_at(facts, "forward")));
    EXPECT_EQ(model.backward[stage], Ticks(whole_at(facts, "backward")));
    EXPECT_EQ(model.activation[stage], memory_at(facts, "activation"));
  }
}

void expect_published(const PublishedResult& result, const Node& facts) {
  EXPECT_EQ(result.bound, Ticks(whole_at(facts, "latency_bound")));
  EXPECT_EQ(result.makespan, Ticks(whole_at(facts, "latency")));
  EXPECT_EQ(result.peak_activation, memory_at(facts, "peak_activation"));
  if (at(facts, "peak_activation_after_memory_optimizer").is_null())
    EXPECT_FALSE(result.peak_activation_optimized);
  else
    EXPECT_EQ(result.peak_activation_optimized, memory_at(facts, "peak_activation_after_memory_optimizer"));
  EXPECT_EQ(result.greedy_makespan, Ticks(whole_at(at(facts, "greedy"), "latency")));
  EXPECT_EQ(result.greedy_peak_activation, memory_at(at(facts, "greedy"), "peak_activation"));
  EXPECT_EQ(result.serial_makespan, Ticks(whole_at(at(facts, "serial_1f1b"), "latency")));
  EXPECT_EQ(result.serial_peak_activation, memory_at(at(facts, "serial_1f1b"), "peak_activation"));
}

TEST(Instances, MatchTheRepository) {
  const Document document = load_json();
  const Node list = at(document.root(), "instances");
  ASSERT_EQ(list.size(), 12U);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Node facts = list.item(i);
    const Instance& instance = instances()[i];
    SCOPED_TRACE(instance.name);
    EXPECT_EQ(instance.name, at(facts, "name").text());
    EXPECT_EQ(instance.problem.devices, whole_at(facts, "devices"));
    const std::string models(at(facts, "models").text());  // "33B/13B"
    ASSERT_EQ(instance.problem.models.size(), 2U);
    expect_model(instance.problem.models[0], at(facts, "large"), models.substr(0, models.find('/')));
    expect_model(instance.problem.models[1], at(facts, "small"), models.substr(models.find('/') + 1));
    EXPECT_EQ(instance.problem.models[0].replicas.size(), 1U);
    EXPECT_EQ(instance.problem.models[1].replicas.size(),
              static_cast<std::size_t>(whole_at(at(facts, "small"), "replicas")));
    ASSERT_TRUE(instance.published);
    EXPECT_EQ(instance.group, InstanceGroup::published);
    expect_published(*instance.published, at(facts, "published"));
  }
}

TEST(Instances, RunTheModelsInOppositeDirections) {
  for (const Instance& instance : instances()) {
    if (instance.group != InstanceGroup::published && instance.group != InstanceGroup::scale) continue;
    SCOPED_TRACE(instance.name);
    const Model& large = instance.problem.models[0];
    const Model& small = instance.problem.models[1];
    for (int stage = 0; stage < large.stages(); ++stage)
      EXPECT_EQ(large.replicas[0][static_cast<std::size_t>(stage)], DeviceId(stage));
    for (int replica = 0; replica < static_cast<int>(small.replicas.size()); ++replica)
      for (int stage = 0; stage < small.stages(); ++stage)
        EXPECT_EQ(small.replicas[static_cast<std::size_t>(replica)][static_cast<std::size_t>(stage)],
                  DeviceId((replica + 1) * small.stages() - 1 - stage));
  }
}

TEST(Instances, AreValidWithUniqueNames) {
  std::set<std::string> names;
  for (const Instance& instance : instances()) {
    EXPECT_EQ(find_fault(instance.problem), std::nullopt) << instance.name;
    EXPECT_TRUE(names.insert(instance.name).second);
    EXPECT_EQ(find_instance(instance.name), &instance);
  }
  EXPECT_EQ(names.size(), 44U);
  EXPECT_EQ(find_instance("exp12"), nullptr);
}

TEST(Instances, HaveSummaries) {
  EXPECT_EQ(find_instance("exp0")->summary, "33B on 8 stages x 32 micro-batches, 2 x 13B on 4 stages x 16");
  EXPECT_EQ(find_instance("exp9")->summary, "65B on 16 stages x 64 micro-batches, 33B on 16 stages x 64");
}

TEST(Instances, ScaleToManyDevices) {
  const Instance& scale64 = *find_instance("scale64");
  EXPECT_EQ(scale64.problem.devices, 64);
  EXPECT_EQ(count_ops(scale64.problem), 65'536);
  EXPECT_FALSE(scale64.published);
  EXPECT_EQ(scale64.group, InstanceGroup::scale);
  const Instance& scale256 = *find_instance("scale256");
  EXPECT_EQ(scale256.problem.devices, 256);
  EXPECT_EQ(count_ops(scale256.problem), 1'048'576);
  const Model& large = scale256.problem.models[0];
  const Model& small = scale256.problem.models[1];
  EXPECT_EQ(large.name, "large");
  EXPECT_EQ(small.name, "small");
  EXPECT_EQ(large.forward[0], Ticks(2));
  EXPECT_EQ(large.backward[0], Ticks(4));
  EXPECT_EQ(large.activation[0], Memory(1'640'000));
  EXPECT_EQ(small.forward[0], Ticks(1));
  EXPECT_EQ(small.backward[0], Ticks(2));
  EXPECT_EQ(small.activation[0], Memory(1'000'000));
}

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
      EXPECT_LE(instance.summary.size(), 100U) << instance.name;  // a table of summaries has to fit a screen
    }
  }
  EXPECT_TRUE(std::is_sorted(instances().begin(), instances().end(),
                             [](const Instance& a, const Instance& b) { return a.group < b.group; }));
}

TEST(GeneralInstances, HaveTheFeatureOfTheirGroup) {
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
