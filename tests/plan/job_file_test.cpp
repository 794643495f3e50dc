#include "plan/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "llm/bundled_models.h"
#include "plan/job.h"
#include "plan/jobs.h"
#include "plan/model_file.h"
#include "plan/plan_members.h"
#include "support/temporary_folder.h"

namespace dovetail::plan {
namespace {

using llm::Layout;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string workload = "workload: {prompts: 64, prompt_length: 100, response_length: 500}\n";
const std::string cluster_of_eight = "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n";

/// A job with these lines. Workload and cluster are its last two lines.
std::string job_with(const std::string& lines) {
  return "format: dovetail/job@1\n" + lines + "\n" + workload + cluster_of_eight;
}

std::string error_in(const std::string& content, const std::string& path = "job.yaml") {
  const auto job = parse_job(content, path);
  return job.ok() ? "no error" : base::to_text(job.error());
}

std::string error_of(const std::string& lines) { return error_in(job_with(lines)); }

const llm::Transformer& model_of_role(const Job& job, std::string_view role) {
  return job.models.at(workflow::find_role(job.workflow, role)->index());
}

TEST(ParseJob, OnlyACriticHasItsOwnMiniBatches) {
  const std::string lines =
      "format: dovetail/job@1\nalgorithm: {name: grpo, reward: rule}\nmodels: {actor: qwen3-0.6b}\n" + cluster_of_eight;
  EXPECT_EQ(
      error_in(lines + "workload: {prompts: 64, prompt_length: 100, response_length: 500, critic: {epochs: 2}}\n"),
      "job.yaml:5:75: grpo has no critic; accepted: no `critic`");
}

TEST(ParseJob, ReadsTypesAndLogits) {
  const std::string lines = "algorithm: {name: grpo, reward: rule}\nmodels: {actor: qwen3-0.6b}\n";
  const Job job = parse_job(job_with(lines + "software: {weight_type: bf16, gradient_type: fp32, moment_type: fp16, "
                                             "master_type: remainder, logit_tokens: 512, loss_entropy: none}"),
                            "job.yaml")
                      .value();
  EXPECT_EQ(job.software.weight_type, StateType::bf16);
  EXPECT_EQ(job.software.gradient_type, StateType::fp32);
  EXPECT_EQ(job.software.moment_type, StateType::fp16);
  EXPECT_EQ(job.software.master_type, MasterType::remainder);
  EXPECT_EQ(job.software.logit_tokens, 512);
  EXPECT_EQ(job.software.loss_entropy, LossEntropy::none);
  EXPECT_THAT(error_of(lines + "software: {moment_type: fp8}"),
              HasSubstr("`moment_type` is the string `fp8`; accepted: usual, fp32, bf16, fp16"));
  EXPECT_THAT(error_of(lines + "software: {master_type: bf16}"),
              HasSubstr("accepted: usual, fp32, fp16, remainder, none"));
  EXPECT_THAT(error_of(lines + "software: {logit_tokens: 512, logit_entries: 9504}"),
              HasSubstr("`logit_entries` and `logit_tokens` cannot be combined"));
  EXPECT_THAT(error_of(lines + "software: {logit_tokens: 0}"), HasSubstr("`logit_tokens` must be an integer from 1"));
}

TEST(ParseJob, ReadsAClusterFile) {
  const dovetail::test::TemporaryFolder folder;
  folder.write("here.yaml", "format: dovetail/profile@2\n" + cluster_of_eight);
  const std::string lines =
      "format: dovetail/job@1\nalgorithm: {name: grpo, reward: rule}\nmodels: {actor: qwen3-0.6b}\n" + workload;
  const auto job = parse_job(lines + "cluster: here.yaml\n", folder.file("job.yaml"));
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->cluster, parse_job(lines + cluster_of_eight, "job.yaml")->cluster);
  EXPECT_THAT(
      error_in(lines + "cluster: nowhere.yaml\n", folder.file("job.yaml")),
      AllOf(HasSubstr("job.yaml:5:10: there is no file"), HasSubstr("nowhere.yaml"), HasSubstr("accepted: a map")));
  for (const char* const none : {"cluster: ''\n", "cluster: '-'\n", "cluster: .\n"})
    EXPECT_THAT(error_in(lines + none, folder.file("job.yaml")), HasSubstr("there is no file"));
  folder.write("here.yaml", "cluster: {nodes: 0}\n");
  EXPECT_THAT(error_in(lines + "cluster: here.yaml\n", folder.file("job.yaml")), HasSubstr("here.yaml:1:"));
  folder.write("here.yaml", "name: none\n");
  EXPECT_THAT(error_in(lines + "cluster: here.yaml\n", folder.file("job.yaml")), HasSubstr("`cluster`"));
}

TEST(ParseJob, ReadsEveryKey) {
  const Job job = parse_job(R"(
format: dovetail/job@1
name: trial
algorithm: {name: ppo, policy_log_probabilities: trainer}
models:
  actor: llama-2-7b
  critic: {model: opt-1.3b, lora: 16}
  reward: {model_type: llama, num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 4, intermediate_size: 128, vocab_size: 100}
  reference: llama-2-13b
workload: {prompts: 64, samples_per_prompt: 2, prompt_length: 100, response_length: 500}
cluster: {nodes: 2, gpus_per_node: 4, gpu: A100, price: 2}
software: {training: megatron, efficiency: a100/megatron-vllm}
)",
                            "folder/job.yaml")
                      .value();
  EXPECT_EQ(job.name, "trial");
  EXPECT_EQ(job.workflow.name, "ppo");
  EXPECT_TRUE(workflow::find_task(job.workflow, "actor_infer").has_value());
  ASSERT_EQ(job.models.size(), job.workflow.roles.size());
  EXPECT_EQ(model_of_role(job, "actor"), llm::find_bundled_model("llama-2-7b").value());
  EXPECT_EQ(model_of_role(job, "reference"), llm::find_bundled_model("llama-2-13b").value());
  EXPECT_EQ(model_of_role(job, "critic").name, "opt-1.3b");
  EXPECT_EQ(model_of_role(job, "critic").adapter_rank, 16);
  EXPECT_EQ(model_of_role(job, "reward").name, "reward");
  EXPECT_EQ(model_of_role(job, "reward").layers, 2);
  EXPECT_EQ(job.workload.samples(), 128);
  EXPECT_EQ(cluster::device_count(job.cluster), 8);
  EXPECT_EQ(job.software, (Software{.training = "megatron", .efficiency = "a100/megatron-vllm", .profile = {}}));
  EXPECT_FALSE(job.software.prefetch);
  EXPECT_TRUE(
      parse_job(job_with("algorithm: ppo\nmodels: {actor: llama-2-7b, reward: opt-1.3b}\nsoftware: {prefetch: true}"),
                "job.yaml")
          .value()
          .software.prefetch);
}

TEST(ParseJob, FillsInDefaults) {
  const Job job = parse_job(job_with("algorithm: ppo\nmodels: {actor: {model: llama-2-7b, lora: 8}, reward: opt-1.3b}"),
                            "jobs/night.run.yaml")
                      .value();
  EXPECT_EQ(job.name, "night.run");
  EXPECT_EQ(job.software, Software{});
  EXPECT_EQ(model_of_role(job, "actor").adapter_rank, 8);
  // The reference is the actor without adapters.
  EXPECT_EQ(model_of_role(job, "reference"), llm::find_bundled_model("llama-2-7b").value());
  // The critic starts as the reward model and has its head.
  EXPECT_EQ(model_of_role(job, "critic"), model_of_role(job, "reward"));
  EXPECT_EQ(model_of_role(job, "critic").name, "opt-1.3b");
}

TEST(ParseJob, HeadsFollowTheRole) {
  const Job job = test::job_of("ppo");
  EXPECT_EQ(model_of_role(job, "actor").head, llm::Head::language_model);
  EXPECT_EQ(model_of_role(job, "critic").head, llm::Head::scalar);
  EXPECT_EQ(model_of_role(job, "reward").head, llm::Head::scalar);
  // A scalar head cannot be tied to the embedding.
  const Job tied =
      parse_job(job_with("algorithm: {name: ppo, reward: rule}\nmodels: {actor: qwen3-4b}"), "job.yaml").value();
  EXPECT_TRUE(model_of_role(tied, "reference").tied_embeddings);
  EXPECT_EQ(model_of_role(tied, "critic"), llm::with_scalar_head(llm::find_bundled_model("qwen3-4b").value()));
}

TEST(ParseJob, AnAverageHasTheModelOfItsTrainedRole) {
  const Job job =
      parse_job(job_with("algorithm: {name: dpo, reference: averaged}\nmodels: {actor: {model: llama-2-7b, lora: 4}}"),
                "job.yaml")
          .value();
  EXPECT_EQ(model_of_role(job, "reference"), llm::find_bundled_model("llama-2-7b").value());
}

TEST(ParseJob, ReadsAGraph) {
  const Job job = parse_job(job_with(R"(algorithm:
  roles: [{name: student}, {name: teacher}]
  tasks:
    - {name: ask, kind: infer, role: teacher, inputs: [texts], outputs: [scores]}
    - {name: learn, kind: train, role: student, inputs: [texts, scores]}
models: {student: llama-3.2-1b, teacher: llama-3-70b})"),
                            "job.yaml")
                      .value();
  EXPECT_EQ(job.workflow.name, "custom");
  EXPECT_EQ(model_of(job, workflow::TaskId(std::size_t{0})).name, "llama-3-70b");
  EXPECT_EQ(model_of(job, workflow::TaskId(std::size_t{1})).name, "llama-3.2-1b");
}

TEST(ParseJob, RolesThatFormACycleNeedAModel) {
  const std::string graph = R"(algorithm:
  roles: [{name: student}, {name: old, averaged_from: pupil, decay: 0.5}, {name: pupil, initialised_from: old}]
  tasks:
    - {name: ask, kind: infer, role: old, inputs: [texts], outputs: [scores]}
    - {name: compare, kind: infer, role: student, inputs: [texts], outputs: [others]}
    - {name: learn, kind: train, role: pupil, inputs: [texts, scores, others]}
)";
  EXPECT_EQ(error_of(graph + "models: {student: llama-3.2-1b}"),
            "job.yaml:8:9: `models` has no `old`, which the algorithm custom needs; accepted: `old: MODEL` (a bundled "
            "model, a config.json or its folder)");
  EXPECT_EQ(error_of(graph + "models: {student: llama-3.2-1b, old: llama-3-8b}"), "no error");
  EXPECT_EQ(error_of(graph + "models: {student: llama-3.2-1b, pupil: llama-3-8b}"), "no error");
}

TEST(ParseJob, ReadsJson) {
  EXPECT_EQ(error_in(R"({"format": "dovetail/job@1", "algorithm": "sft", "models": {"actor": "llama-2-7b"},
    "workload": {"prompts": 1, "prompt_length": 1, "response_length": 1}, "cluster": {"nodes": 1, "gpus_per_node": 1, "gpu": "H100"}})"),
            "no error");
}

/// A folder with files, for paths in jobs.
class JobFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "models" / "tiny");
    write(
        "models/tiny/config.json",
        R"({"model_type": "llama", "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128,
              "vocab_size": 100, "torch_dtype": "bfloat16"})");
    write("models/broken.json", "{\n  \"model_type\": \"llama\",\n  \"num_hidden_layers\": 0.5}");
    write("lengths.csv", "tokens\n10\n30\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& content) const { std::ofstream(folder_ / name) << content; }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("dovetail_job_" + std::to_string(::getpid()));
};

TEST_F(JobFolder, PathsStartFromTheJob) {
  const std::string content =
      "format: dovetail/job@1\nalgorithm: sft\nmodels: {actor: models/tiny/config.json}\n"
      "workload: {prompts: 1, prompt_length: 1, response_length: {file: lengths.csv}}\n" +
      cluster_of_eight;
  const Job job = parse_job(content, path("job.yaml")).value();
  EXPECT_EQ(job.models.at(0).name, "tiny");
  EXPECT_EQ(job.models.at(0).layers, 3);
  EXPECT_EQ(job.workload.response_length.mean(), 20);
  const Job below = parse_job(job_with("algorithm: sft\nmodels: {actor: {model: ../models/tiny/config.json, lora: 2}}"),
                              path("lengths/job.yaml"))
                        .value();
  EXPECT_EQ(below.models.at(0).layers, 3);
  EXPECT_EQ(below.models.at(0).adapter_rank, 2);
}

TEST_F(JobFolder, AModelMayBeAFolder) {
  const Job job = parse_job(job_with("algorithm: sft\nmodels: {actor: models/tiny}"), path("job.yaml")).value();
  EXPECT_EQ(job.models.at(0),
            parse_job(job_with("algorithm: sft\nmodels: {actor: models/tiny/config.json}"), path("job.yaml"))
                .value()
                .models.at(0));
  EXPECT_THAT(error_in(job_with("algorithm: sft\nmodels: {actor: models}"), path("job.yaml")),
              HasSubstr(path("models/config.json") + ": cannot be read"));
  EXPECT_THAT(error_in(job_with("algorithm: sft\nmodels: {actor: models/large}"), path("job.yaml")),
              HasSubstr("unknown bundled model `models/large`"));
}

TEST_F(JobFolder, ReadsTheComputationFromTheShapesFile) {
  const std::string texts[] = {"models/tiny", "models/tiny/config.json", "{model: models/tiny}",
                               R"({model_type: llama, num_hidden_layers: 3, hidden_size: 64, num_attention_heads: 4,
                                  intermediate_size: 128, vocab_size: 100, torch_dtype: bfloat16})"};
  for (const std::string& text : texts) {
    const base::Document document = base::parse_yaml("model: " + text, "job.yaml").value();
    const base::Node node = *document.root().find("model");
    const std::filesystem::path folder = path("");
    const auto shape = read_model(node, "actor", folder);
    ASSERT_TRUE(shape.ok()) << text;
    const auto computation = read_computation(node, *shape, folder);
    ASSERT_TRUE(computation.ok()) << text;
    EXPECT_EQ(computation->number_type, "bfloat16") << text;
    EXPECT_EQ(config_folder(node, folder), text.starts_with("{model_type") ? "" : path("models/tiny")) << text;
  }
  const base::Document bundled = base::parse_yaml("model: llama-2-7b", "job.yaml").value();
  const base::Node node = *bundled.root().find("model");
  const auto computation = read_computation(node, read_model(node, "actor", path("")).value(), path(""));
  ASSERT_FALSE(computation.ok());
  EXPECT_THAT(base::to_text(computation.error()),
              StartsWith("job.yaml:1:8: only the shape of the bundled model `llama-2-7b` is known"));
  EXPECT_EQ(config_folder(node, path("")), "");
}

TEST_F(JobFolder, MistakesInOtherFilesHaveTheirPosition) {
  EXPECT_EQ(error_in(job_with("algorithm: sft\nmodels: {actor: models/broken.json}"), path("job.yaml")),
            path("models/broken.json") + ":3:24: `num_hidden_layers` must be an integer from 0 to 1073741824, not 0.5");
  const auto missing = parse_job(job_with("algorithm: sft\nmodels: {actor: models/none.json}"), path("job.yaml"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().failure, base::Failure::io);
  EXPECT_EQ(base::to_text(missing.error()),
            path("job.yaml") + ":3:17: " + path("models/none.json") + ": cannot be read: No such file or directory");
}

TEST(ParseJob, ReportsMistakesInTheTopLevel) {
  const std::string keys = "format, name, folder, algorithm, models, workload, cluster, software, limits, fixed, train";
  EXPECT_EQ(error_in("[]"), "job.yaml:1:1: a job must be a map, not a list; accepted: a map with the key `format`");
  EXPECT_EQ(error_in("{}"), "job.yaml:1:1: a job needs the key `format`; accepted: `format: dovetail/job@1`");
  EXPECT_EQ(error_in("format: dovetail/job@2"),
            "job.yaml:1:9: `format` is the string `dovetail/job@2`; accepted: `dovetail/job@1`");
  EXPECT_EQ(error_in("format: 1"), "job.yaml:1:9: `format` is 1; accepted: `dovetail/job@1`");
  EXPECT_EQ(error_of("algorythm: ppo"),
            "job.yaml:2:1: unknown key `algorythm` in a job; did you mean `algorithm`? accepted: " + keys);
  EXPECT_EQ(error_in("format: dovetail/job@1"),
            "job.yaml:1:1: a job needs the key `algorithm`; accepted: algorithm: ppo");
  EXPECT_EQ(error_of("algorithm: ppo"),
            "job.yaml:1:1: a job needs the key `models`; accepted: models: {actor: llama-2-7b}");
  EXPECT_EQ(error_in("{format: dovetail/job@1, algorithm: ppo, models: {}}"),
            "job.yaml:1:1: a job needs the key `workload`; accepted: workload: {prompts: 128, ...}");
  EXPECT_EQ(error_in("{format: dovetail/job@1, algorithm: ppo, models: {}, workload: {}}"),
            "job.yaml:1:1: a job needs the key `cluster`; accepted: cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}");
  const std::string sound = "algorithm: sft\nmodels: {actor: llama-2-7b}\n";
  EXPECT_EQ(error_of(sound + "name: 3"),
            "job.yaml:4:7: `name` is 3; accepted: a non-empty string without control characters");
  EXPECT_EQ(error_of(sound + "name: ''"),
            "job.yaml:4:7: `name` is the string ``; accepted: a non-empty string without control characters");
  EXPECT_EQ(error_of(sound + "name: \"a\\nb\""),
            "job.yaml:4:7: `name` is the string `a\\u000Ab`; accepted: a non-empty string without control characters");
  EXPECT_EQ(error_of(sound + "software: megatron"),
            "job.yaml:4:11: `software` must be a map, not the string `megatron`; accepted keys: training, efficiency, "
            "profile, prefetch, framework, weight_type, gradient_type, moment_type, master_type, logit_tokens, "
            "logit_entries, loss_entropy, engine, engine_weight_bits, "
            "key_value_bits, shard_group, engine_sleep, sync_bucket, optimizer_host_share");
  EXPECT_EQ(error_of(sound + "software: {xyz: vllm}"),
            "job.yaml:4:12: unknown key `xyz` in `software`; accepted: training, efficiency, profile, prefetch, "
            "framework, weight_type, gradient_type, moment_type, master_type, logit_tokens, logit_entries, "
            "loss_entropy, engine, engine_weight_bits, key_value_bits, shard_group, "
            "engine_sleep, sync_bucket, optimizer_host_share");
  EXPECT_EQ(error_of(sound + "software: {training: [a]}"),
            "job.yaml:4:22: `training` is a list; accepted: a non-empty string without control characters");
  EXPECT_EQ(error_of(sound + "software: {prefetch: always}"),
            "job.yaml:4:22: `prefetch` is the string `always`; accepted: true or false");
  const std::string accepted =
      "accepted: a share of a device's usable memory, from `0%` to `90%`, or an amount: `0`, or at least `1MB`";
  EXPECT_EQ(error_of(sound + "limits: {margin: 91%}"), "job.yaml:4:18: `margin` is the string `91%`; " + accepted);
  EXPECT_EQ(error_of(sound + "limits: {margin: 0.05}"), "job.yaml:4:18: `margin` is 0.05; " + accepted);
  EXPECT_EQ(error_of(sound + "limits: {margin: -1GiB}"), "job.yaml:4:18: `margin` is the string `-1GiB`; " + accepted);
  EXPECT_EQ(error_of(sound + "limits: {margin: [5%]}"), "job.yaml:4:18: `margin` is a list; " + accepted);
  EXPECT_EQ(error_of(sound + "limits: {memory: 5%}"),
            "job.yaml:4:10: unknown key `memory` in `limits`; accepted: margin");
  EXPECT_EQ(error_of(sound + "name: a\nname: b"), "job.yaml:5:1: duplicate key `name`; each key may appear only once");
}

TEST(ParseJob, MistakesInMembersHaveTheirPosition) {
  EXPECT_EQ(error_of("algorithm: gppo\nmodels: {}"),
            "job.yaml:2:12: unknown algorithm `gppo`; did you mean 'ppo'?; accepted: ppo, grpo, reinforce++, remax, "
            "dpo, reward_model, sft, or a map with `name`, or with `roles` and `tasks`");
  const std::string sound = "format: dovetail/job@1\nalgorithm: sft\nmodels: {actor: llama-2-7b}\n";
  EXPECT_EQ(error_in(sound + "workload: {prompts: 0, prompt_length: 1, response_length: 1}\n" + cluster_of_eight),
            "job.yaml:4:21: `prompts` must be an integer from 1 to 16777216, not 0");
  EXPECT_THAT(error_in(sound + workload + "cluster: {nodes: 1, gpus_per_node: 8, gpu: H1000}\n"),
              StartsWith("job.yaml:5:44: unknown GPU `H1000`"));
}

TEST(ParseJob, ReportsMistakesInModels) {
  EXPECT_EQ(error_of("algorithm: ppo\nmodels: llama-2-7b"),
            "job.yaml:3:9: `models` of ppo must be a map, not the string `llama-2-7b`; accepted keys: actor, reward, "
            "reference, critic");
  EXPECT_EQ(error_of("algorithm: ppo\nmodels: {actr: llama-2-7b}"),
            "job.yaml:3:10: unknown key `actr` in `models` of ppo; did you mean `actor`? accepted: actor, reward, "
            "reference, critic");
  EXPECT_EQ(error_of("algorithm: ppo\nmodels: {actor: llama-2-7b}"),
            "job.yaml:3:9: `models` has no `reward`, which the algorithm ppo needs; accepted: `reward: MODEL` (a "
            "bundled model, a config.json or its folder), or `algorithm: {name: ppo, reward: rule}`");
  EXPECT_THAT(error_of("algorithm: sft\nmodels: {actor: llama-2-7c}"),
              StartsWith("job.yaml:3:17: unknown bundled model `llama-2-7c`; did you mean 'llama-2-7b'"));
  EXPECT_EQ(error_of("algorithm: sft\nmodels: {actor: 7}"),
            "job.yaml:3:17: the model of `actor` is 7; accepted: a bundled name, a folder with a config.json, the path "
            "of a config.json, a map with its keys, or a map with `model` and `lora`");
  EXPECT_EQ(error_of("algorithm: sft\nmodels: {actor: {model: 7}}"),
            "job.yaml:3:25: the model of `actor` is 7; accepted: a bundled name, a folder with a config.json, or the "
            "path of a config.json");
  EXPECT_EQ(error_of("algorithm: sft\nmodels: {actor: {lora: 7}}"),
            "job.yaml:3:17: a model needs the key `model`; accepted: model: llama-2-7b");
  EXPECT_EQ(error_of("algorithm: sft\nmodels: {actor: {model: llama-2-7b, rank: 7}}"),
            "job.yaml:3:37: unknown key `rank` in a model; accepted: model, lora");
  EXPECT_EQ(error_of("algorithm: sft\nmodels: {actor: {model: llama-2-7b, lora: 0}}"),
            "job.yaml:3:43: `lora` must be an integer from 1 to 16384, not 0");
  EXPECT_THAT(
      error_of("algorithm: sft\nmodels: {actor: {model_type: gpt}}"),
      StartsWith("job.yaml:3:30: the model type is the string `gpt`, which is unknown; accepted: llama, mistral"));
  EXPECT_THAT(error_of("algorithm: sft\nmodels: {actor: {model_type: llama}}"),
              HasSubstr("job.yaml:3:17: the model's configuration needs the key `num_hidden_layers`"));
  EXPECT_EQ(
      error_of("algorithm: {name: dpo, reference: averaged}\nmodels: {actor: llama-2-7b, reference: llama-2-13b}"),
      "job.yaml:3:40: `reference` is a moving average of `actor`, but has another shape; accepted: the model of "
      "`actor`");
  EXPECT_EQ(error_of("algorithm: {name: dpo, reference: averaged}\nmodels: {actor: {model: llama-2-7b, lora: 2}, "
                     "reference: llama-2-7b}"),
            "no error");
}

/// A job with all four kinds of tasks and a model with experts. `fixed` is on its third line.
base::Result<Job> read(const std::string& fixed) {
  return parse_job(
      "format: dovetail/job@1\nalgorithm: {name: grpo, reward: rule, reference: skip}\nfixed: " + fixed +
          "\nmodels: {actor: mixtral-8x7b}\nworkload: {prompts: 64, prompt_length: 100, response_length: 500}\n"
          "cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}\n",
      "job.yaml");
}

std::string fixed_error_of(const std::string& fixed) {
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

TEST(ReadFixed, NoSettingsAreEmpty) {
  EXPECT_THAT(read("{}").value().fixed, IsEmpty());
  EXPECT_THAT(read("{actor_train: {}, actor_infer: {layout: {}}}").value().fixed, IsEmpty());
  EXPECT_THAT(read("{placement: [a]}").value().fixed, IsEmpty());
  EXPECT_THAT(read("{actor_train: {layout: {tp: 2}}}").value().placements, IsEmpty());
}

RC_GTEST_PROP(ReadFixed, ReadsBackPinsOfAPlan, ()) {
  const Job job = test::random_job();
  const std::size_t task = *rc::gen::inRange<std::size_t>(0, job.workflow.tasks.size());
  const TaskPlan plan = test::random_task_plan(job, task);
  TaskPin pin;
  if (*rc::gen::arbitrary<bool>()) pin.mesh = plan.mesh;
  fix_some(plan.layout, pin.layout);
  fix_some(plan.engine, pin.engine);
  if (*rc::gen::arbitrary<bool>()) pin.offload = plan.offload;
  if (plan.mesh.count == 0) pin.mesh.reset();  // rules have no mesh
  const auto document = base::parse_json(task_pin_object(pin).text(), "x").value();
  const auto read_back = read_task_pin(document.root());
  RC_ASSERT(read_back.ok());
  RC_ASSERT(*read_back == pin);
}

TEST(ReadFixed, ReportsMistakesInTheTopLevel) {
  EXPECT_EQ(fixed_error_of("3"),
            "job.yaml:3:8: `fixed` is 3; accepted: a map whose keys are tasks, `placement` or `fusion`");
  EXPECT_EQ(fixed_error_of("{actor_trian: {}}"),
            "job.yaml:3:9: unknown task `actor_trian`; did you mean 'actor_train'?; accepted: actor_generate, "
            "actor_infer, actor_train, "
            "placement, fusion");
  EXPECT_EQ(
      fixed_error_of("{critic: {}}"),
      "job.yaml:3:9: unknown task `critic`; accepted: actor_generate, actor_infer, actor_train, placement, fusion");
  EXPECT_EQ(fixed_error_of("{reward_rule: {}}"),
            "job.yaml:3:9: `reward_rule` is a rule, which has no plan; accepted: actor_generate, actor_infer, "
            "actor_train, placement, fusion");
  EXPECT_EQ(fixed_error_of("{actor_train: {}, actor_train: {}}"),
            "job.yaml:3:26: duplicate key `actor_train`; each key may appear only once");
  EXPECT_EQ(fixed_error_of("{actor_train: 3}"),
            "job.yaml:3:22: `fixed` of actor_train must be a map, not 3; accepted keys: devices, layout, micro_batch, "
            "offload");
  EXPECT_EQ(
      fixed_error_of("{actor_train: {mesh: 3}}"),
      "job.yaml:3:23: unknown key `mesh` in `fixed` of actor_train; accepted: devices, layout, micro_batch, offload");
  EXPECT_EQ(
      fixed_error_of("{actor_train: {engine: {}}}"),
      "job.yaml:3:23: unknown key `engine` in `fixed` of actor_train; accepted: devices, layout, micro_batch, offload");
  EXPECT_EQ(fixed_error_of("{actor_generate: {micro_batch: {}}}"),
            "job.yaml:3:26: unknown key `micro_batch` in `fixed` of actor_generate; accepted: devices, layout, engine, "
            "offload");
}

TEST(ReadFixed, ReportsMistakesInValues) {
  EXPECT_EQ(fixed_error_of("{actor_generate: {engine: {max_num_seqs: 512, max_num_batched_tokens: 256}}}"),
            "job.yaml:3:78: `max_num_batched_tokens` is 256; accepted: at least `max_num_seqs` (512), because a decode "
            "step processes one token per sequence");
  EXPECT_EQ(fixed_error_of("{actor_generate: {engine: {max_num_batched_tokens: 16}}}"), "no error")
      << "max_num_seqs is free";
  EXPECT_EQ(fixed_error_of("{actor_train: {layout: {tp: 0}}}"),
            "job.yaml:3:36: `tp` must be an integer from 1 to 65536, not 0");
  EXPECT_EQ(fixed_error_of("{actor_train: {offload: [all]}}"),
            "job.yaml:3:33: an item of `offload` is the string `all`; accepted: a list with any of weights, gradients, "
            "optimizer, optimizer_on_host");
  EXPECT_EQ(fixed_error_of("{actor_train: {devices: 8-23}}"),
            "job.yaml:3:22: actor_train: its devices 8 to 23 are not a mesh of the cluster's 16 devices; accepted: "
            "devices of one node, or whole nodes, optionally with part of the node before or after them");
  EXPECT_EQ(fixed_error_of("{actor_train: {devices: 0-7, layout: {tp: 4, pp: 4}}}"),
            "job.yaml:3:22: actor_train: no layout of mixtral-8x7b with tp 4, pp 4 uses the 8 devices of its mesh; "
            "accepted: dp x tp x pp x cp that equals this device count, and ep x etp that divides dp x cp x tp");
  EXPECT_EQ(fixed_error_of("{actor_train: {micro_batch: {tokens: 8, count: 1}}}"),
            "job.yaml:3:22: actor_train: its micro-batches have no size or several sizes; accepted: one of sequences, "
            "tokens and count, greater than 0");
  EXPECT_EQ(fixed_error_of("{actor_generate: {engine: {memory_utilization: 0}}}"),
            "job.yaml:3:55: `memory_utilization` must be a number from 0.01 to 1, not 0");
}

TEST(ReadFixed, ReportsMistakesInPlacements) {
  EXPECT_EQ(fixed_error_of("{placement: co-located}"),
            "job.yaml:3:20: `placement` is the string `co-located`; accepted: a list of placement names");
  EXPECT_EQ(fixed_error_of("{placement: []}"),
            "job.yaml:3:20: `placement` is an empty list; accepted: a list of placement names");
  EXPECT_EQ(fixed_error_of("{placement: [3]}"),
            "job.yaml:3:21: an item of `placement` is 3; accepted: a list of placement names");
  EXPECT_EQ(fixed_error_of("{placement: [a, b, a]}"),
            "job.yaml:3:27: `a` appears twice in `placement`; accepted: each name once");
}

MinMargin margin_of(const std::string& text) {
  const base::Document document = base::parse_yaml_or_json("margin: " + text, "limits.yaml").value();
  return read_limits(document.root()).value().margin.value();
}

TEST(ReadLimits, ReadsSharesAndAmounts) {
  EXPECT_EQ(margin_of("5%"), (MinMargin{0.05, 0}));
  EXPECT_EQ(margin_of("2.5%"), (MinMargin{0.025, 0}));
  EXPECT_EQ(margin_of("4GiB"), (MinMargin{0, std::int64_t{4} << 30}));
  EXPECT_EQ(margin_of("0"), (MinMargin{0, 0}));
  EXPECT_EQ(margin_of("0%"), (MinMargin{0, 0}));
  EXPECT_EQ(margin_of("3000000000"), (MinMargin{0, 3'000'000'000}));
}

TEST(MinMargin, AppliesToUsableMemory) {
  EXPECT_EQ((MinMargin{0.05, 0}.of(80'000)), 4'000);
  EXPECT_EQ((MinMargin{0, 700}.of(80'000)), 700);
}

}  // namespace
}  // namespace dovetail::plan
