#include "plan/job_file_fixed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/jobs.h"
#include "plan/plan_file_task.h"

namespace dovetail::plan {
namespace {

using llm::Layout;
using testing::ElementsAre;
using testing::IsEmpty;

/// A job with all four kinds of tasks and a model with experts; `fixed` stands on its third line.
base::Result<Job> read(const std::string& fixed) {
  return parse_job(
      "format: dovetail/job@1\nalgorithm: {name: grpo, reward: rule, reference: skip}\nfixed: " + fixed +
          "\nmodels: {actor: mixtral-8x7b}\nworkload: {prompts: 64, prompt_length: 100, response_length: 500}\n"
          "cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}\n",
      "job.yaml");
}

std::string error_of(const std::string& fixed) {
  const auto job = read(fixed);
  return job.ok() ? "no error" : base::to_text(job.error());
}

template <class T>
base::Partial<T> all_of(const T& value) {
  base::Partial<T> all;
  base::for_each_field<T>([&](const auto& field) { all.set(field.member, value.*field.member); });
  return all;
}

TEST(ReadFixed, ReadsEveryKey) {
  const Job job = read(R"({
    actor_generate: {devices: 3, layout: {tp: 1}, engine: {memory_utilization: 0.6, max_num_seqs: 128, max_num_batched_tokens: 4096,
      chunked_prefill: false, longest_first: true, cuda_graphs: false, own_weights: true}, offload: []},
    actor_infer: {micro_batch: {sequences: 4}},
    actor_train: {devices: 0-15, layout: {dp: 2, cp: 2, tp: 2, pp: 2, ep: 4, etp: 2, vpp: 2, zero: 0, sequence_parallel: false,
      recompute: selective, stage_layers: [14, 18]}, micro_batch: {tokens: 4096}, offload: [weights, optimizer_on_host]},
    placement: [co-located, ReaL]})")
                      .value();
  EXPECT_THAT(job.placements, ElementsAre("co-located", "ReaL"));
  ASSERT_EQ(job.fixed.size(), job.workflow.tasks.size());
  TaskPin generate;
  generate.mesh = cluster::Mesh{3, 1};
  generate.layout.set(&Layout::tensor, 1);
  generate.engine = all_of(Engine{0.6, 128, 4096, false, false, true, true});
  generate.offload = Offload{};
  EXPECT_EQ(job.fixed.at(test::index_of(job, "actor_generate")), generate);
  TaskPin infer;
  infer.micro_batching = MicroBatching{4, 0, 0};
  EXPECT_EQ(job.fixed.at(test::index_of(job, "actor_infer")), infer);
  TaskPin train;
  train.mesh = cluster::Mesh{0, 16};
  train.layout = all_of(Layout{2, 2, 2, 2, 2, 4, 2, 0, false, llm::Recomputation::selective, {14, 18}});
  train.micro_batching = MicroBatching{0, 4096, 0};
  train.offload = Offload{true, false, false, true};
  EXPECT_EQ(job.fixed.at(test::index_of(job, "actor_train")), train);
  EXPECT_EQ(job.fixed.at(test::index_of(job, "reward_rule")), TaskPin{});
}

template <class T>
void fix_some(const T& value, base::Partial<T>& fixed) {
  base::for_each_field<T>([&](const auto& field) {
    if (*rc::gen::arbitrary<bool>()) fixed.set(field.member, value.*field.member);
  });
}

TEST(ReadFixed, OfNothingIsEmpty) {
  EXPECT_THAT(read("{}").value().fixed, IsEmpty());
  EXPECT_THAT(read("{actor_train: {}, actor_infer: {layout: {}}}").value().fixed, IsEmpty());
  EXPECT_THAT(read("{placement: [a]}").value().fixed, IsEmpty());
  EXPECT_THAT(read("{actor_train: {layout: {tp: 2}}}").value().placements, IsEmpty());
}

RC_GTEST_PROP(ReadFixed, ReadsWhatIsFixedOfAPlan, ()) {
  const Job job = test::random_job();
  const std::size_t task = *rc::gen::inRange<std::size_t>(0, job.workflow.tasks.size());
  const TaskPlan plan = test::random_task_plan(job, task);
  TaskPin pin;
  if (*rc::gen::arbitrary<bool>()) pin.mesh = plan.mesh;
  fix_some(plan.layout, pin.layout);
  fix_some(plan.engine, pin.engine);
  if (*rc::gen::arbitrary<bool>()) pin.offload = plan.offload;
  if (plan.mesh.count == 0) pin.mesh.reset();  // a rule's
  const auto document = base::parse_json(task_pin_object(pin).text(), "x").value();
  const auto read_back = read_task_pin(document.root());
  RC_ASSERT(read_back.ok());
  RC_ASSERT(*read_back == pin);
}

TEST(ReadFixed, NamesAMistakeInTheWhole) {
  EXPECT_EQ(error_of("3"), "job.yaml:3:8: `fixed` is 3; accepted: a map from tasks to what is fixed of them");
  EXPECT_EQ(error_of("{actor_trian: {}}"),
            "job.yaml:3:9: there is no task `actor_trian`; did you mean 'actor_train'?; accepted: actor_generate, "
            "actor_infer, actor_train, "
            "placement, fusion");
  EXPECT_EQ(
      error_of("{critic: {}}"),
      "job.yaml:3:9: there is no task `critic`; accepted: actor_generate, actor_infer, actor_train, placement, fusion");
  EXPECT_EQ(error_of("{reward_rule: {}}"),
            "job.yaml:3:9: `reward_rule` is a rule, of which nothing is planned; accepted: actor_generate, "
            "actor_infer, actor_train, "
            "placement, fusion");
  EXPECT_EQ(error_of("{actor_train: {}, actor_train: {}}"),
            "job.yaml:3:26: duplicate key `actor_train`; each key may stand once");
  EXPECT_EQ(error_of("{actor_train: 3}"),
            "job.yaml:3:22: `fixed` of actor_train must be a map, not 3; accepted keys: devices, layout, micro_batch, "
            "offload");
  EXPECT_EQ(
      error_of("{actor_train: {mesh: 3}}"),
      "job.yaml:3:23: unknown key `mesh` in `fixed` of actor_train; accepted: devices, layout, micro_batch, offload");
  EXPECT_EQ(
      error_of("{actor_train: {engine: {}}}"),
      "job.yaml:3:23: unknown key `engine` in `fixed` of actor_train; accepted: devices, layout, micro_batch, offload");
  EXPECT_EQ(error_of("{actor_generate: {micro_batch: {}}}"),
            "job.yaml:3:26: unknown key `micro_batch` in `fixed` of actor_generate; accepted: devices, layout, engine, "
            "offload");
}

TEST(ReadFixed, NamesAMistakeInAValue) {
  EXPECT_EQ(error_of("{actor_generate: {engine: {max_num_seqs: 512, max_num_batched_tokens: 256}}}"),
            "job.yaml:3:78: `max_num_batched_tokens` is 256; accepted: at least `max_num_seqs`, 512 (a token of each "
            "in a step)");
  EXPECT_EQ(error_of("{actor_generate: {engine: {max_num_batched_tokens: 16}}}"), "no error") << "sequences are free";
  EXPECT_EQ(error_of("{actor_train: {layout: {tp: 0}}}"),
            "job.yaml:3:36: `tp` must be a whole number from 1 to 65536, not 0");
  EXPECT_EQ(error_of("{actor_train: {offload: [all]}}"),
            "job.yaml:3:33: an item of `offload` is the string `all`; accepted: a list of weights, gradients, "
            "optimizer, optimizer_on_host");
  EXPECT_EQ(error_of("{actor_train: {devices: 8-23}}"),
            "job.yaml:3:22: actor_train: its devices 8 to 23 are not a mesh of the cluster's 16; accepted: devices of "
            "one node, or whole nodes");
  EXPECT_EQ(error_of("{actor_train: {devices: 0-7, layout: {tp: 4, pp: 4}}}"),
            "job.yaml:3:22: actor_train: no layout of mixtral-8x7b with tp 4, pp 4 is for the 8 devices of its mesh; "
            "accepted: degrees whose "
            "product they are");
  EXPECT_EQ(error_of("{actor_train: {micro_batch: {tokens: 8, count: 1}}}"),
            "job.yaml:3:22: actor_train: its micro-batches are given in none or several ways; accepted: one of "
            "sequences, tokens and count, "
            "more than 0");
  EXPECT_EQ(error_of("{actor_generate: {engine: {memory_utilization: 0}}}"),
            "job.yaml:3:55: `memory_utilization` must be a number from 0.01 to 1, not 0");
}

TEST(ReadFixed, NamesAMistakeInPlacements) {
  EXPECT_EQ(error_of("{placement: co-located}"),
            "job.yaml:3:20: `placement` is the string `co-located`; accepted: a list of names of placements");
  EXPECT_EQ(error_of("{placement: []}"),
            "job.yaml:3:20: `placement` is an empty list; accepted: a list of names of placements");
  EXPECT_EQ(error_of("{placement: [3]}"),
            "job.yaml:3:21: an item of `placement` is 3; accepted: a list of names of placements");
  EXPECT_EQ(error_of("{placement: [a, b, a]}"),
            "job.yaml:3:27: `a` stands twice in `placement`; accepted: each name once");
}

}  // namespace
}  // namespace dovetail::plan
