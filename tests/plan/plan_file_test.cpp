#include "plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "plan/job.h"
#include "plan/jobs.h"

namespace dovetail::plan {
namespace {

using cluster::Mesh;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A job with all four kinds of tasks and a model with experts.
Job small_job() {
  return parse_job(
             R"({format: dovetail/job@1, algorithm: {name: grpo, reward: rule, reference: skip}, models: {actor: mixtral-8x7b},
    workload: {prompts: 64, prompt_length: 100, response_length: 500}, cluster: {nodes: 4, gpus_per_node: 8, gpu: H100}})",
             "small.yaml")
      .value();
}

const std::string generate = "  - {task: actor_generate, devices: 0-15, layout: {dp: 2, tp: 8}}\n";
const std::string infer = "  - {task: actor_infer, devices: 16-31, layout: {dp: 16}, micro_batch: {sequences: 4}}\n";
const std::string train =
    "  - {task: actor_train, devices: 16-31, layout: {dp: 4, tp: 2, pp: 2}, micro_batch: {tokens: 4096}}\n";

std::string with_tasks(const std::string& tasks) { return "format: dovetail/plan@1\ntasks:\n" + tasks; }

Plan read(const std::string& tasks) { return parse_plan(with_tasks(tasks), "plan.yaml", small_job()).value(); }

std::string error_in(const std::string& content) {
  const auto plan = parse_plan(content, "plan.yaml", small_job());
  return plan.ok() ? "no error" : base::to_text(plan.error());
}

std::string error_of(const std::string& tasks) { return error_in(with_tasks(tasks)); }

TEST(ParsePlan, ReadsEveryKey) {
  const Plan plan = parse_plan(R"({"format": "dovetail/plan@1", "job": "another", "placement": "by hand", "tasks": [
    {"task": "actor_train", "devices": "16-31", "layout": {"dp": 2, "cp": 2, "tp": 2, "pp": 2, "ep": 4, "etp": 2, "vpp": 2, "zero": 1,
      "sequence_parallel": true, "recompute": "full", "stage_layers": [14, 18]}, "micro_batch": {"count": 8},
     "offload": ["weights", "gradients", "optimizer", "optimizer_on_host"]},
    {"task": "actor_infer", "devices": 3, "layout": {}, "micro_batch": {"sequences": 4}},
    {"task": "actor_generate", "devices": "0-15", "layout": {"dp": 2, "tp": 8}, "engine": {"memory_utilization": 0.6,
      "max_num_seqs": 512, "max_num_batched_tokens": 4096, "chunked_prefill": false, "cuda_graphs": false}, "offload": ["weights"]}]})",
                               "plan.json", small_job())
                        .value();
  EXPECT_EQ(plan.placement, "by hand");
  const Job job = small_job();
  const auto task = [&](std::string_view name) { return plan.tasks.at(test::index_of(job, name)); };
  EXPECT_EQ(task("actor_train").mesh, (Mesh{16, 16}));
  llm::Layout layout = test::layout_of(2, 2, 2);
  layout.context = 2;
  layout.expert = 4;
  layout.expert_tensor = 2;
  layout.virtual_stages = 2;
  layout.zero = 1;
  layout.sequence_parallel = true;
  layout.recomputation = llm::Recomputation::full;
  layout.stage_layers = {14, 18};
  EXPECT_EQ(task("actor_train").layout, layout);
  EXPECT_EQ(task("actor_train").micro_batching, (MicroBatching{0, 0, 8}));
  EXPECT_EQ(task("actor_train").offload, (Offload{true, true, true, true}));
  EXPECT_EQ(task("actor_infer").mesh, (Mesh{3, 1}));
  EXPECT_EQ(task("actor_infer").layout, llm::Layout{});
  EXPECT_EQ(task("actor_infer").micro_batching, (MicroBatching{4, 0, 0}));
  EXPECT_EQ(task("actor_infer").offload, Offload{});
  EXPECT_EQ(task("actor_generate").engine, (Engine{0.6, 512, 4096, false, false}));
  EXPECT_EQ(task("actor_generate").offload, (Offload{true, false, false, false}));
  EXPECT_EQ(task("reward_rule"), TaskPlan{}) << "rules are not planned";
}

TEST(ParsePlan, FillsInDefaults) {
  const Plan plan = read(generate + infer + train);
  EXPECT_EQ(plan.placement, "custom");
  EXPECT_EQ(plan.tasks.at(0).engine, Engine{});
  EXPECT_EQ(plan.tasks.at(0).layout, test::layout_of(2, 8));
  EXPECT_EQ(plan.tasks.at(0).micro_batching, MicroBatching{});
}

TEST(PlanToJson, LeavesOutDefaults) {
  const Job job = small_job();
  const std::string text = plan_to_json(read(train + infer + generate), job);
  const std::string members =
      "\n \"job\": \"small\", \"job_hash\": \"" + job_hash(job) + R"(", "placement": "custom", "tasks": [
  {"task": "actor_generate", "devices": "0-15", "layout": {"dp": 2, "tp": 8}},
  {"task": "actor_infer", "devices": "16-31", "layout": {"dp": 16}, "micro_batch": {"sequences": 4}},
  {"task": "actor_train", "devices": "16-31", "layout": {"dp": 4, "tp": 2, "pp": 2}, "micro_batch": {"tokens": 4096}}
]}
)";
  const std::string hash = base::sha256_hex(base::canonical_json(R"({"format": "dovetail/plan@1",)" + members));
  EXPECT_EQ(text, R"({"format": "dovetail/plan@1", "hash": ")" + hash + "\"," + members);
}

TEST(PlanHash, CoversTheFilesOtherMembers) {
  const auto parse = [](const std::string& text) { return parse_plan(text, "plan.json", small_job()); };
  const std::string text = plan_to_json(read(generate + infer + train), small_job());
  // Order and spaces do not matter, but a default that is written out does.
  std::string turned = text;
  turned.replace(turned.find("{\"dp\": 2, \"tp\": 8}"), 18, "{ \"tp\":8,  \"dp\":2}");
  EXPECT_TRUE(parse(turned).ok());
  std::string filled = text;
  filled.replace(filled.find("{\"dp\": 2, \"tp\": 8}"), 18, "{\"dp\": 2, \"tp\": 8, \"pp\": 1}");
  EXPECT_FALSE(parse(filled).ok());
  std::string changed = text;
  changed.replace(changed.find("4096"), 4, "2048");
  const auto rejected = parse(changed);
  ASSERT_FALSE(rejected.ok());
  const std::string begin = "plan.json:1:39: `hash` does not match the contents of the file; accepted: ";
  const std::string message = base::to_text(rejected.error());
  EXPECT_THAT(message, testing::StartsWith(begin));
  EXPECT_THAT(message, testing::EndsWith(", or no `hash` if the file was changed by hand"));
  // The file is valid with the hash in the message, and without a hash.
  const std::size_t hash = text.find("\"hash\": \"") + 9;
  std::string corrected = changed;
  corrected.replace(hash, 64, message.substr(begin.size(), 64));
  EXPECT_TRUE(parse(corrected).ok());
  changed.erase(hash - 9, 9 + 64 + 2);
  EXPECT_TRUE(parse(changed).ok());
}

TEST(PlanHash, IsTheSameInYaml) {
  std::string text = "format: dovetail/plan@1\ntasks:\n" + generate + infer + train;
  const auto document = base::parse_yaml(text, "x").value();
  text += "hash: " + base::sha256_hex(base::canonical_json(document.root())) + "\n";
  EXPECT_EQ(error_in(text), "no error");
}

TEST(ParsePlan, KeepsTheHashOfItsJob) {
  const std::string hash = base::sha256_hex("a job");
  const auto read_with = [](const std::string& line) {
    return parse_plan(line + with_tasks(generate + infer + train), "p", small_job()).value();
  };
  EXPECT_EQ(read_with("job_hash: " + hash + "\n").job_hash, hash);
  EXPECT_EQ(read_with("").job_hash, "");
  EXPECT_EQ(read_with("job_hash: " + hash + "\n"), read_with("")) << "the plans do the same";
  EXPECT_EQ(parse_plan(plan_to_json(read_with(""), small_job()), "p", small_job())->job_hash, job_hash(small_job()));
}

RC_GTEST_PROP(PlanToJson, IsReadBackToTheSamePlan, ()) {
  const Job job = test::random_job();
  const Plan plan = test::random_plan(job);
  const std::string text = plan_to_json(plan, job);
  const auto read_back = parse_plan(text, "plan.json", job);
  if (!read_back.ok()) RC_FAIL(base::to_text(read_back.error()) + "\n" + text);
  RC_ASSERT(*read_back == plan);
  RC_ASSERT(plan_to_json(*read_back, job) == text);
}

TEST(ParsePlan, ReportsMistakesInTheTopLevel) {
  const std::string keys = "format, hash, job, job_hash, placement, tasks, fusion, not_modelled";
  EXPECT_EQ(error_in("3"), "plan.yaml:1:1: a plan must be a map, not 3; accepted: a map with the key `format`");
  EXPECT_EQ(error_in("{}"), "plan.yaml:1:1: a plan needs the key `format`; accepted: `format: dovetail/plan@1`");
  EXPECT_EQ(error_in("format: dovetail/job@1"),
            "plan.yaml:1:9: `format` is the string `dovetail/job@1`; accepted: `dovetail/plan@1`");
  EXPECT_EQ(error_in("format: dovetail/plan@1"), "plan.yaml:1:1: a plan needs the key `tasks`; accepted: tasks: [...]");
  EXPECT_EQ(error_in("format: dovetail/plan@1\nmesh: 3"),
            "plan.yaml:2:1: unknown key `mesh` in a plan; accepted: " + keys);
  EXPECT_EQ(error_in("format: dovetail/plan@1\nplacement: 3"),
            "plan.yaml:2:12: `placement` is 3; accepted: a non-empty string without control characters");
  EXPECT_EQ(error_in("format: dovetail/plan@1\nplacement: ''"),
            "plan.yaml:2:12: `placement` is the string ``; accepted: a non-empty string without control characters");
  EXPECT_EQ(error_in("format: dovetail/plan@1\njob: [a]"),
            "plan.yaml:2:6: `job` is a list; accepted: a non-empty string without control characters");
  for (const std::string key : {"job_hash", "hash"}) {
    const std::string place = "plan.yaml:6:" + std::to_string(key.size() + 3) + ": `" + key + "` is ";
    const std::string accepted = "; accepted: a SHA-256 as 64 hexadecimal digits in lower case";
    EXPECT_EQ(error_in(with_tasks(generate + infer + train) + key + ": 3"), place + "3" + accepted);
    EXPECT_EQ(error_in(with_tasks(generate + infer + train) + key + ": sha"), place + "the string `sha`" + accepted);
    EXPECT_THAT(error_in(with_tasks(generate + infer + train) + key + ": " + std::string(64, 'A')),
                testing::EndsWith(accepted));
  }
  EXPECT_EQ(error_in("format: dovetail/plan@1\ntasks: {}"),
            "plan.yaml:2:8: `tasks` is a map; accepted: a list of maps");
}

TEST(ParsePlan, EachTaskAppearsOnce) {
  EXPECT_EQ(error_of(generate + train),
            "plan.yaml:3:3: `tasks` has no `actor_infer`; accepted: each task of grpo once, except rules");
  EXPECT_EQ(error_of(generate + infer + train + infer),
            "plan.yaml:6:12: `actor_infer` appears twice; accepted: each task once");
  EXPECT_EQ(error_of("  - {task: actor_gen}\n"),
            "plan.yaml:3:12: unknown task `actor_gen`; accepted: actor_generate, actor_infer, actor_train");
  EXPECT_EQ(error_of("  - {task: actor_trian}\n"),
            "plan.yaml:3:12: unknown task `actor_trian`; did you mean 'actor_train'?; accepted: actor_generate, "
            "actor_infer, actor_train");
  EXPECT_EQ(error_of("  - {task: reward_rule, devices: 0, layout: {}}\n"),
            "plan.yaml:3:12: unknown task `reward_rule`; accepted: actor_generate, actor_infer, actor_train");
  EXPECT_EQ(error_of("  - {task: 3}\n"),
            "plan.yaml:3:12: the task is 3; accepted: actor_generate, actor_infer, actor_train");
  EXPECT_EQ(error_of("  - {task: [actor_infer]}\n"),
            "plan.yaml:3:12: the task is a list; accepted: actor_generate, actor_infer, actor_train");
  EXPECT_EQ(error_of("  - 3\n"),
            "plan.yaml:3:5: a task of a plan must be a map, not 3; accepted: a map with the key `task`");
  EXPECT_EQ(error_of("  - {devices: 0}\n"),
            "plan.yaml:3:5: a task of a plan needs the key `task`; accepted: task: actor_generate");
}

/// The error in a plan whose actor_infer has these keys.
std::string infer_error(const std::string& keys) {
  return error_of(generate + train + "  - {task: actor_infer, " + keys + "}\n");
}

TEST(ParsePlan, ReportsMistakesInTasks) {
  EXPECT_EQ(infer_error("devices: 0, engine: {}"),
            "plan.yaml:5:37: unknown key `engine` in an infer or train task; accepted: task, devices, layout, "
            "micro_batch, offload");
  EXPECT_EQ(
      error_of("  - {task: actor_generate, micro_batch: {}}\n"),
      "plan.yaml:3:28: unknown key `micro_batch` in a generate task; accepted: task, devices, layout, engine, offload");
  EXPECT_EQ(infer_error("layout: {}"), "plan.yaml:5:5: a task needs the key `devices`; accepted: devices: \"0-7\"");
  EXPECT_EQ(infer_error("devices: 0"), "plan.yaml:5:5: a task needs the key `layout`; accepted: layout: {dp: 8}");
  EXPECT_EQ(infer_error("devices: 0, layout: {}"),
            "plan.yaml:5:5: an infer or train task needs the key `micro_batch`; accepted: micro_batch: {tokens: 8192}");
  for (const std::string devices :
       {"0-", "-1", "7-0", "a", "0-1-2", "0 - 7", "1.5", "0-99999999999", "16777216", "''"}) {
    const std::string shown = devices == "1.5" || devices == "16777216" || devices == "-1"
                                  ? devices
                                  : "the string `" + (devices == "''" ? "" : devices) + "`";
    EXPECT_EQ(infer_error("devices: " + devices + ", layout: {}"),
              "plan.yaml:5:34: `devices` is " + shown + "; accepted: \"FIRST-LAST\", or the number of one device");
  }
  EXPECT_EQ(infer_error("devices: [0, 1], layout: {}"),
            "plan.yaml:5:34: `devices` is a list; accepted: \"FIRST-LAST\", or the number of one device");
  EXPECT_EQ(
      infer_error("devices: 0, layout: {}, micro_batch: {}, offload: weights"),
      "plan.yaml:5:75: `offload` is the string `weights`; accepted: a list with any of weights, gradients, optimizer, "
      "optimizer_on_host");
  EXPECT_EQ(
      infer_error("devices: 0, layout: {}, micro_batch: {}, offload: [weight]"),
      "plan.yaml:5:76: an item of `offload` is the string `weight`; accepted: a list with any of weights, gradients, "
      "optimizer, optimizer_on_host");
  EXPECT_EQ(infer_error("devices: 0, layout: {}, micro_batch: {}, offload: [weights, weights]"),
            "plan.yaml:5:85: `weights` appears twice in `offload`; accepted: each name once");
}

TEST(ParsePlan, ReportsMistakesInLayouts) {
  const auto layout_error = [](const std::string& keys) {
    return infer_error("devices: 0-7, micro_batch: {count: 1}, layout: {" + keys + "}");
  };
  EXPECT_EQ(layout_error("dp: 8"), "no error");
  EXPECT_EQ(layout_error("data: 8"),
            "plan.yaml:5:73: unknown key `data` in a layout; accepted: dp, tp, pp, cp, ep, etp, vpp, zero, "
            "sequence_parallel, recompute, "
            "stage_layers");
  EXPECT_EQ(layout_error("dp: 0"), "plan.yaml:5:77: `dp` must be an integer from 1 to 65536, not 0");
  EXPECT_EQ(layout_error("dp: 8, zero: 4"), "plan.yaml:5:86: `zero` must be an integer from 0 to 3, not 4");
  EXPECT_EQ(layout_error("dp: 8, sequence_parallel: 1"),
            "plan.yaml:5:99: `sequence_parallel` is 1; accepted: true or false");
  EXPECT_EQ(layout_error("dp: 8, recompute: some"),
            "plan.yaml:5:91: `recompute` is the string `some`; accepted: none, selective, experts, full");
  EXPECT_EQ(layout_error("pp: 8, stage_layers: 4"),
            "plan.yaml:5:94: `stage_layers` is 4; accepted: a list of integers");
  EXPECT_EQ(layout_error("pp: 8, stage_layers: [-1]"),
            "plan.yaml:5:95: the number of layers of a stage must be an integer from 0 to 4096, not -1");
  // Faults of find_fault are at the task.
  EXPECT_EQ(layout_error("pp: 8, stage_layers: [4]"),
            "plan.yaml:5:5: actor_infer: stage_layers has 1 values; accepted: one for each of 8 stages");
  EXPECT_EQ(
      layout_error("dp: 4"),
      "plan.yaml:5:5: actor_infer: its layout dp4 tp1 pp1 uses 4 devices, but its mesh has 8; accepted: a layout that "
      "uses the whole mesh");
  EXPECT_EQ(
      layout_error("dp: 65536, cp: 65536"),
      "plan.yaml:5:5: actor_infer: its layout dp65536 tp1 pp1 cp65536 uses 4294967296 devices, but its mesh has 8; "
      "accepted: a layout that uses the whole mesh");
}

TEST(ParsePlan, ReportsMistakesInMicroBatches) {
  const auto micro_batch_error = [](const std::string& value) {
    return infer_error("devices: 0, layout: {}, micro_batch: " + value);
  };
  EXPECT_EQ(micro_batch_error("{count: 1}"), "no error");
  EXPECT_EQ(micro_batch_error("8"),
            "plan.yaml:5:62: `micro_batch` must be a map, not 8; accepted keys: sequences, tokens, count");
  EXPECT_EQ(micro_batch_error("{token: 8}"),
            "plan.yaml:5:63: unknown key `token` in `micro_batch`; did you mean `tokens`? accepted: sequences, tokens, "
            "count");
  EXPECT_EQ(micro_batch_error("{tokens: 0}"), "plan.yaml:5:71: `tokens` must be an integer from 1 to 16777216, not 0");
  const std::string wrong =
      "plan.yaml:5:5: actor_infer: its micro-batches have no size or several sizes; accepted: one of sequences, tokens "
      "and count, greater than 0";
  EXPECT_EQ(micro_batch_error("{}"), wrong);
  EXPECT_EQ(micro_batch_error("{tokens: 8, count: 1}"), wrong);
}

TEST(ParsePlan, ReportsMistakesInEngines) {
  const auto engine_error = [](const std::string& value) {
    return error_of("  - {task: actor_generate, devices: 0-7, layout: {tp: 8}, engine: " + value + "}\n" + infer +
                    train);
  };
  EXPECT_EQ(engine_error("{}"), "no error");
  EXPECT_EQ(
      engine_error("vllm"),
      "plan.yaml:3:67: `engine` must be a map, not the string `vllm`; accepted keys: memory_utilization, max_num_seqs, "
      "max_num_batched_tokens, chunked_prefill, longest_first, cuda_graphs, own_weights");
  EXPECT_EQ(engine_error("{max_seqs: 3}"),
            "plan.yaml:3:68: unknown key `max_seqs` in `engine`; did you mean `max_num_seqs`? accepted: "
            "memory_utilization, max_num_seqs, "
            "max_num_batched_tokens, chunked_prefill, longest_first, cuda_graphs, own_weights");
  EXPECT_EQ(engine_error("{memory_utilization: 0}"),
            "plan.yaml:3:88: `memory_utilization` must be a number from 0.01 to 1, not 0");
  EXPECT_EQ(engine_error("{memory_utilization: 90}"),
            "plan.yaml:3:88: `memory_utilization` must be a number from 0.01 to 1, not 90");
  EXPECT_EQ(engine_error("{memory_utilization: 90%}"),
            "plan.yaml:3:88: `memory_utilization` must be a number from 0.01 to 1, not the string `90%`");
  EXPECT_EQ(engine_error("{max_num_seqs: 0}"),
            "plan.yaml:3:82: `max_num_seqs` must be an integer from 1 to 16777216, not 0");
  EXPECT_EQ(engine_error("{max_num_seqs: 300, max_num_batched_tokens: 299}"),
            "plan.yaml:3:111: `max_num_batched_tokens` is 299; accepted: at least `max_num_seqs` (300), because a "
            "decode step processes one token per sequence");
  EXPECT_EQ(engine_error("{max_num_seqs: 300, max_num_batched_tokens: 300}"), "no error");
  EXPECT_EQ(engine_error("{max_num_batched_tokens: 255}"),
            "plan.yaml:3:5: actor_generate: its engine's max_num_batched_tokens is 255; accepted: at least "
            "max_num_seqs (256), because a decode step processes one token per sequence");
  EXPECT_EQ(engine_error("{cuda_graphs: yes}"),
            "plan.yaml:3:81: `cuda_graphs` is the string `yes`; accepted: true or false");
}

Job sft_job() {
  return parse_job(
             "{format: dovetail/job@1, algorithm: sft, models: {actor: llama-3.2-1b}, cluster: {nodes: 1, "
             "gpus_per_node: 8, gpu: H100}, workload: {prompts: 64, prompt_length: 100, response_length: 500}}",
             "small.yaml")
      .value();
}

const std::string tasks =
    "format: dovetail/plan@1\ntasks:\n  - {task: actor_train, devices: 0-7, layout: {dp: 8}, micro_batch: {count: "
    "1}}\n";

std::string error_with(const std::string& value) {
  const auto plan = parse_plan(tasks + "not_modelled: " + value + "\n", "plan.yaml", sft_job());
  return plan.ok() ? "no error" : base::to_text(plan.error());
}

const NotModelled fp8{"rollout.quantization", "fp8: counted as bf16, but the real run is faster"};
const NotModelled judge{"", "an engine judges: counted as a forward pass"};

TEST(NotModelled, IsReadFromAPlan) {
  const Plan plan =
      parse_plan(tasks +
                     "not_modelled:\n  - {key: rollout.quantization, what: 'fp8: counted as bf16, but the real "
                     "run is faster'}\n  - {what: 'an engine judges: counted as a forward pass'}\n",
                 "plan.yaml", sft_job())
          .value();
  EXPECT_THAT(plan.not_modelled, ElementsAre(fp8, judge));
  EXPECT_THAT(parse_plan(tasks, "plan.yaml", sft_job())->not_modelled, IsEmpty());
  EXPECT_EQ(to_text(fp8), "rollout.quantization: fp8: counted as bf16, but the real run is faster");
  EXPECT_EQ(to_text(judge), "an engine judges: counted as a forward pass");
}

TEST(NotModelled, ReportsMistakes) {
  const std::string accepted = "; accepted: a list of maps with the keys `key` and `what`";
  EXPECT_EQ(error_with("fp8"), "plan.yaml:4:15: `not_modelled` is the string `fp8`" + accepted);
  EXPECT_EQ(error_with("[fp8]"),
            "plan.yaml:4:16: an item of `not_modelled` must be a map, not the string `fp8`; accepted keys: key, what");
  EXPECT_EQ(error_with("[{key: a}]"),
            "plan.yaml:4:16: an item of `not_modelled` needs the key `what`; accepted: what: \"fp8: counted as bf16\"");
  EXPECT_EQ(error_with("[{what: 3}]"),
            "plan.yaml:4:23: `what` is 3; accepted: a non-empty string without control characters");
  EXPECT_EQ(error_with("[{what: ''}]"),
            "plan.yaml:4:23: `what` is the string ``; accepted: a non-empty string without control characters");
  EXPECT_THAT(error_with("[{what: \"a\\nb\"}]"), HasSubstr("plan.yaml:4:23: `what` is"));
  EXPECT_THAT(error_with("[{what: a, setting: b}]"), HasSubstr("plan.yaml:4:26: unknown key `setting`"));
  EXPECT_EQ(error_with("[]"), "no error");
}

/// Unmodeled settings affect neither the equality of plans nor the hash of the job.
TEST(NotModelled, ChangesNeitherPlanNorJob) {
  Job job = sft_job();
  const Plan plan = parse_plan(tasks, "plan.yaml", job).value();
  Plan more = plan;
  more.not_modelled = {fp8};
  EXPECT_EQ(more, plan);
  const std::string hash = job_hash(job);
  job.not_modelled = {judge};
  EXPECT_EQ(job_hash(job), hash);
}

TEST(NotModelled, IsWrittenForThePlanAndItsJob) {
  Job job = sft_job();
  Plan plan = parse_plan(tasks, "plan.yaml", job).value();
  EXPECT_THAT(plan_to_json(plan, job), Not(HasSubstr("not_modelled")));
  plan.not_modelled = {fp8};
  job.not_modelled = {fp8, judge};
  const std::string text = plan_to_json(plan, job);
  EXPECT_THAT(text, HasSubstr("\"not_modelled\": [\n  {\"key\": \"rollout.quantization\", \"what\": "));
  EXPECT_THAT(parse_plan(text, "plan.json", sft_job())->not_modelled, ElementsAre(fp8, judge));
  std::string changed = text;
  changed.replace(changed.find("is faster"), 9, "is slower");
  EXPECT_FALSE(parse_plan(changed, "plan.json", sft_job()).ok()) << "the file's hash covers all members";
}

RC_GTEST_PROP(NotModelled, RoundTrips, ()) {
  const Job job = sft_job();
  Plan plan = parse_plan(tasks, "plan.yaml", job).value();
  const auto name = [] { return base::visible(*rc::gen::nonEmpty<std::string>()); };
  for (int left = *rc::gen::inRange(0, 5); left > 0; --left)
    plan.not_modelled.push_back({*rc::gen::arbitrary<bool>() ? name() : "", name()});
  plan.not_modelled = joined({}, plan.not_modelled);
  const auto read_back = parse_plan(plan_to_json(plan, job), "plan.json", job);
  if (!read_back.ok()) RC_FAIL(base::to_text(read_back.error()));
  RC_ASSERT(read_back->not_modelled == plan.not_modelled);
}

}  // namespace
}  // namespace dovetail::plan
