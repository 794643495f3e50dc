#include "control/run/run_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "llm/tensors.h"
#include "support/temporary_folder.h"

namespace dovetail::control {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string config(int layers, const std::string& more = "") {
  return R"({"model_type": "llama", "num_hidden_layers": )" + std::to_string(layers) +
         R"(, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 40, "eos_token_id": 2,
         "max_position_embeddings": 64)" +
         more + "}";
}

llm::Transformer shape_of(int layers) {
  llm::Transformer shape;
  shape.name = "tiny";
  shape.layers = layers;
  shape.hidden = 8;
  shape.heads = shape.key_value_heads = 2;
  shape.head_size = 4;
  shape.width = 16;
  shape.vocabulary = 40;
  return shape;
}

/// Writes zeros for each tensor of the model. `change` may modify them first.
struct StoredModel {
  std::vector<std::byte> zeros = std::vector<std::byte>(4096);
  std::vector<weights::StoredTensor> tensors;

  explicit StoredModel(const llm::Transformer& shape) {
    for (const llm::Tensor& tensor : llm::tensors_of(shape)) add(tensor.name, tensor.rows, tensor.columns);
  }
  void add(const std::string& name, std::int64_t rows, std::int64_t columns) {
    const auto bytes = static_cast<std::size_t>(rows * columns) * 4;
    std::vector<std::int64_t> shape{rows};
    if (columns > 1 || name == "score.weight") shape.push_back(columns);
    tensors.push_back({name, weights::ElementType::f32, shape, std::span(zeros).first(bytes)});
  }
  weights::StoredTensor& find(std::string_view name) {
    for (weights::StoredTensor& tensor : tensors)
      if (tensor.name == name) return tensor;
    DOVETAIL_ASSERT(false);
  }
  weights::Checkpoint write(const std::string& folder) const {
    EXPECT_TRUE(weights::write_safetensors(folder + "/model.safetensors", tensors).ok());
    return weights::Checkpoint::open(folder).value();
  }
};

std::string text_of(const base::Status& status) { return status.ok() ? "no error" : to_text(status.error()); }

std::string fault_of(const llm::Transformer& shape, bool trained, const std::function<void(StoredModel&)>& change) {
  const test::TemporaryFolder folder;
  StoredModel model(shape);
  change(model);
  return text_of(check_weights(model.write(folder.path()), shape, trained));
}

TEST(CheckWeights, RequiresExactlyTheModelsTensors) {
  const llm::Transformer shape = shape_of(2);
  EXPECT_EQ(fault_of(shape, true, [](StoredModel&) {}), "no error");
  EXPECT_THAT(
      fault_of(shape, true,
               [](StoredModel& model) { model.find("model.layers.1.mlp.up_proj.weight").shape = {8, 16}; }),
      HasSubstr("tensor \"model.layers.1.mlp.up_proj.weight\" has shape [8, 16]; config.json requires [16, 8]"));
  EXPECT_THAT(fault_of(shape, true, [](StoredModel& model) { model.tensors.erase(model.tensors.begin()); }),
              HasSubstr("tensor \"model.embed_tokens.weight\" is missing"));
  EXPECT_THAT(fault_of(shape, true, [](StoredModel& model) { model.add("model.layers.2.mlp.up_proj.weight", 16, 8); }),
              HasSubstr("\"model.layers.2.mlp.up_proj.weight\" is not part of the model"));
  EXPECT_THAT(fault_of(shape, true,
                       [](StoredModel& model) {
                         weights::StoredTensor& tensor = model.find("model.norm.weight");
                         tensor.type = weights::ElementType::i32;
                       }),
              HasSubstr("tensor \"model.norm.weight\" has type I32; accepted: F32, F16, BF16, F64"));
  EXPECT_EQ(fault_of(shape, true,
                     [](StoredModel& model) { model.add("model.layers.0.self_attn.rotary_emb.inv_freq", 2, 1); }),
            "no error");
}

TEST(CheckWeights, OnlyATrainedHeadMayBeMissing) {
  const llm::Transformer scalar = llm::with_scalar_head(shape_of(1));
  const auto without_head = [](StoredModel& model) {
    std::erase_if(model.tensors, [](const auto& tensor) { return tensor.name == "score.weight"; });
  };
  EXPECT_EQ(fault_of(scalar, true, without_head), "no error");
  EXPECT_THAT(fault_of(scalar, false, without_head), HasSubstr("tensor \"score.weight\" is missing"));
  EXPECT_EQ(fault_of(scalar, false, [](StoredModel& model) { model.add("lm_head.weight", 40, 8); }), "no error");
  llm::Transformer tied = shape_of(1);
  tied.tied_embeddings = true;
  EXPECT_EQ(fault_of(tied, false,
                     [](StoredModel& model) {
                       std::erase_if(model.tensors, [](const auto& tensor) { return tensor.name == "lm_head.weight"; });
                     }),
            "no error");
}

/// Folder with a PPO job and models to start from.
class RunChecks : public testing::Test {
 protected:
  void write_model(const std::string& name, int layers, bool with_head, const std::string& more = "") const {
    fs::create_directories(folder_.file(name));
    folder_.write(name + "/config.json", config(layers, more));
    llm::Transformer shape = shape_of(layers);
    if (!with_head) shape = llm::with_scalar_head(std::move(shape));
    (void)StoredModel(shape).write(folder_.file(name));
  }
  std::string write_job(const std::string& weights, const std::string& software = "{}",
                        const std::string& lengths = "prompt_length: 4, response_length: 4") const {
    return folder_.write("job.yaml",
                         "format: dovetail/job@1\nalgorithm: ppo\nmodels: {actor: actor, reward: reward}\nsoftware: " +
                             software + "\nworkload: {prompts: 4, " + lengths +
                             "}\n"
                             "cluster: {nodes: 1, gpus_per_node: 1, gpu: {name: CPU, memory: 8GiB, bandwidth: 20GB/s, "
                             "bf16: 100GFLOP/s}}\n"
                             "train: {iterations: 2, data: {train: prompts.jsonl}, tokenizer: actor, weights: " +
                             weights + "}\n");
  }
  std::string fault(const std::string& weights) const {
    const auto run = read_run_job(write_job(weights));
    if (!run.ok()) return to_text(run.error());
    const auto models = open_models(*run);
    return models.ok() ? "no error" : to_text(models.error());
  }
  void SetUp() override {
    write_model("actor", 2, true);
    write_model("reward", 1, false);
  }

  test::TemporaryFolder folder_;
};

TEST_F(RunChecks, AcceptsAJobFolderForTheRuntime) {
  write_job("{actor: actor}");
  const RunJob run = read_run_job(folder_.path()).value();
  EXPECT_EQ(run.path, folder_.file("job.yaml"));
  EXPECT_EQ(run.job.software.framework, run_framework);
  EXPECT_EQ(run.settings.weights.at("actor"), folder_.file("actor"));
}

TEST_F(RunChecks, RejectsTrainerTypes) {
  for (const std::string setting :
       {"weight_type: bf16", "master_type: none", "logit_tokens: 512", "logit_entries: 512", "loss_entropy: none",
        "engine: sglang", "engine_weight_bits: 8", "key_value_bits: 8", "engine_sleep: copies", "sync_bucket: 1048576",
        "optimizer_host_share: 0.5"}) {
    const auto run = read_run_job(write_job("{actor: actor}", "{" + setting + "}"));
    ASSERT_FALSE(run.ok()) << setting;
    EXPECT_THAT(to_text(run.error()), AllOf(HasSubstr("job.yaml:4:"), HasSubstr("; remove `"))) << setting;
  }
  EXPECT_TRUE(read_run_job(write_job("{actor: actor}", "{weight_type: usual, engine: vllm}")).ok());
}

TEST_F(RunChecks, RejectsASequenceCap) {
  const auto run =
      read_run_job(write_job("{actor: actor}", "{}", "prompt_length: 4, response_length: 4, sequence_cap: 6"));
  ASSERT_FALSE(run.ok());
  EXPECT_THAT(to_text(run.error()), AllOf(HasSubstr("job.yaml:5:"), HasSubstr("; remove `sequence_cap`")));
}

TEST_F(RunChecks, ModelsFollowTheModelTheyCopy) {
  const auto run = read_run_job(write_job("{actor: actor, reward: reward}"));
  ASSERT_TRUE(run.ok()) << to_text(run.error());
  const auto models = open_models(*run);
  ASSERT_TRUE(models.ok()) << to_text(models.error());
  ASSERT_EQ(models->size(), 4U);
  std::vector<std::string> before;
  for (const RunModel& model : *models) {
    const bool own = model.role == "actor" || model.role == "reward";
    EXPECT_EQ(model.checkpoint.has_value(), own) << model.role;
    EXPECT_EQ(model.like, own ? "" : model.role == "reference" ? "actor" : "reward");
    if (!own) {
      EXPECT_THAT(before, testing::Contains(model.like));
    }
    EXPECT_EQ(model.trained, model.role == "actor" || model.role == "critic");
    EXPECT_EQ(model.computation.context, 64);
    before.push_back(model.role);
  }
  const ModelLimits limits = limits_of(*models);
  EXPECT_EQ(limits.vocabulary, 40);
  EXPECT_EQ(limits.context, 64);
  EXPECT_THAT(limits.end_tokens, testing::ElementsAre(2));
}

TEST_F(RunChecks, WithoutWeightsModelsAreRandom) {
  const auto models = open_models(read_run_job(write_job("{}")).value());
  ASSERT_TRUE(models.ok()) << to_text(models.error());
  for (const RunModel& model : *models) {
    EXPECT_FALSE(model.checkpoint.has_value());
    EXPECT_EQ(model.folder, folder_.file(model.shape.layers == 2 ? "actor" : "reward")) << model.role;
  }
}

TEST_F(RunChecks, RejectsWeightsOfAnotherModel) {
  EXPECT_THAT(fault("{actor: reward}"), AllOf(StartsWith(folder_.file("reward/config.json")),
                                              HasSubstr("the weights of `actor` do not match the job's model: they "
                                                        "differ in `layers`; set the role's model in the job to "
                                                        "the folder of these weights: `models: {actor: FOLDER}`")));
  EXPECT_THAT(fault("{reward: none}"), HasSubstr(folder_.file("none/config.json") + ": cannot be read"));
  write_model("actor", 2, true, R"(, "hidden_act": "gelu")");
  EXPECT_THAT(fault("{actor: actor}"),
              AllOf(StartsWith(folder_.file("actor/config.json") + ":"), HasSubstr("accepted: silu")));
  write_model("actor", 2, true);
  write_model("reward", 1, true);
  EXPECT_THAT(fault("{reward: reward}"), HasSubstr("tensor \"score.weight\" is missing"));
}

TEST_F(RunChecks, AFolderIsNewOrResumed) {
  const std::string run = folder_.file("run");
  EXPECT_EQ(text_of(check_run_folder(run, false)), "no error");
  EXPECT_THAT(text_of(check_run_folder(run, true)), HasSubstr("the folder does not exist"));
  fs::create_directories(run);
  folder_.write("run/plan.json", "{}");
  EXPECT_EQ(text_of(check_run_folder(run, false)), "no error");
  EXPECT_THAT(text_of(check_run_folder(run, true)), HasSubstr("there is no run in this folder"));
  folder_.write("run/job.yaml", "");
  EXPECT_THAT(text_of(check_run_folder(run, false)), HasSubstr("the folder is not empty"));
  EXPECT_EQ(text_of(check_run_folder(run, true)), "no error");
  EXPECT_THAT(text_of(check_run_folder(folder_.write("file", ""), false)), HasSubstr("not a folder"));
}

const std::string reward_script = R"(
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "reward": len(asked["answer"])}), flush=True)
)";

TEST_F(RunChecks, RewardCommandsRunInTheJobFolderAndJudgeAProbe) {
  folder_.write("reward.py", reward_script);
  const std::vector<PromptTokens> prompts{{{1}, "a", "\"known\""}};
  EXPECT_EQ(text_of(check_reward({{"python3", "reward.py"}, 2, 20}, folder_.path(), prompts)), "no error");
  const base::Status failed = check_reward({{"python3", "none.py"}, 1, 20}, folder_.path(), prompts);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().failure, base::Failure::bad_input);
  EXPECT_THAT(failed.error().message, StartsWith("the reward command failed its test with an empty response: "));
}

}  // namespace
}  // namespace dovetail::control
