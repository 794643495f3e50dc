// Models named by configurations, and Hugging Face's download cache.
#include "trainers/import/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "llm/bundled_models.h"
#include "llm/huggingface_config.h"
#include "trainers/imported.h"

namespace dovetail::trainers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Named {
  const char* path;
  const char* model;
};

TEST(Models, AreGuessedFromTheEndOfAPath) {
  constexpr Named all[] = {
      {"Qwen/Qwen3-8B", "qwen3-8b"},
      {"/models/Qwen2.5-Math-7B-Instruct", "qwen2.5-7b"},
      {"Qwen/QwQ-32B", "qwen2.5-32b"},
      {"meta-llama/Llama-3.3-70B-Instruct", "llama-3.1-70b"},
      {"mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b"},
      {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
      {"mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo-12b"},
      {"google/gemma-2b-it", "gemma-2b"},
      {"ByteDance-Seed/Seed-OSS-36B-Base", "seed-oss-36b"},
      {"moonshotai/Moonlight-16B-A3B-Instruct", "moonlight-16b-a3b"},
      {"moonshotai/Kimi-K2-Thinking", "kimi-k2"},
      {"deepseek-ai/deepseek-llm-7b-chat", "deepseek-llm-7b"},
      {"deepseek-ai/deepseek-coder-6.7b-instruct", "deepseek-coder-6.7b"},
      {"deepseek-ai/DeepSeek-R1", "deepseek-v3"},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-r1-distill-qwen-1.5b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen2.5-7b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"},
      {"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "qwen3-8b"},
      {"deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-v2-lite"},
      {"zai-org/GLM-4.5-Air", "glm-4.5-air"},
      {"zai-org/GLM-4.7-Flash", "glm-4.7-flash"},
      {"zai-org/GLM-4.7", "glm-4.5"},
      {"MiniMaxAI/MiniMax-M2.7", "minimax-m2"},
      {"tencent/Hy3", "hy3"},
  };
  for (const Named& named : all) {
    const auto found = find_model(named.path, {});
    ASSERT_TRUE(found.ok()) << named.path << ": " << found.error().message;
    EXPECT_EQ(found->model, named.model);
    EXPECT_EQ(found->shape, llm::find_bundled_model(named.model).value());
    EXPECT_EQ(found->why, std::string("the shape of ") + named.model + ", guessed from the name");
    EXPECT_THAT(found->uncounted, IsEmpty()) << named.path;
  }
}

TEST(Models, MultimodalModelsHaveTheShapeOfTheirLanguagePart) {
  constexpr Named all[] = {
      {"Qwen/Qwen2-VL-2B-Instruct", "qwen2-1.5b"},   {"Qwen/Qwen2-VL-7B-Instruct", "qwen2-7b"},
      {"Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-7b"}, {"Qwen/Qwen3-VL-8B-Instruct", "qwen3-8b"},
      {"Qwen/Qwen3-VL-2B-Instruct", "qwen3-1.7b"},   {"Qwen/Qwen3-VL-235B-A22B-Instruct", "qwen3-235b-a22b"},
      {"Qwen/Qwen2.5-Omni-7B", "qwen2.5-7b"},        {"Qwen/Qwen3-Omni-30B-A3B-Instruct", "qwen3-omni-30b-a3b"},
      {"openbmb/MiniCPM-o-2_6", "minicpm-o-2.6"},    {"moonshotai/Kimi-K2.6", "kimi-k2"},
  };
  for (const Named& named : all) {
    const auto found = find_model(named.path, {});
    ASSERT_TRUE(found.ok()) << named.path << ": " << found.error().message;
    EXPECT_EQ(found->model, named.model);
    EXPECT_THAT(found->uncounted, ElementsAre(std::string(llm::only_language_part))) << named.path;
  }
  EXPECT_THAT(find_model("zai-org/GLM-4.1V-9B-Thinking", {}).value().uncounted,
              ElementsAre(std::string(llm::only_language_part), std::string(llm::no_output_norms)));
}

TEST(Models, UnknownNamesAreErrors) {
  for (const char* path :
       {"Qwen/Qwen2.5-Omni-3B", "nvidia/Mistral-NeMo-Minitron-8B-Base", "meta-llama/Llama-3.2-11B-Vision", "", "/"})
    EXPECT_THAT(find_model(path, {}).error().message, HasSubstr("is unknown, and ")) << path;
}

TEST(Models, UnmodeledArchitecturesAreErrors) {
  const std::map<std::string, std::string> all = {
      {"Qwen/Qwen3-Next-80B-A3B-Instruct", "has the model type qwen3_next: most of its layers use linear attention"},
      {"/models/Qwen3.5-27B", "has the model type qwen3_5: most of its layers use linear attention"},
      {"google/gemma-3-1b-it", "has the model type gemma3: many of its layers attend only to a window"},
      {"openai/gpt-oss-20b", "has the model type gpt_oss: every other layer attends only to a window"},
      {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
       "has the model type nemotron_h: many of its layers are state-space"},
      {"nvidia/Llama-3_3-Nemotron-Super-49B-v1_5", "has the model type nemotron-nas: its layers differ"},
      {"deepseek-ai/DeepSeek-V4-Flash", "has the model type deepseek_v4: its attention is sparse"},
  };
  for (const auto& [path, what] : all) EXPECT_THAT(find_model(path, {}).error().message, HasSubstr(what)) << path;
}

TEST(Models, AreReadFromTheirFolder) {
  const std::string config = R"({"model_type": "qwen2_5_vl", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100})";
  const syntax::FileReader read = [&](const std::string& path) -> base::Result<std::string> {
    return path == "/models/Qwen3-8B/config.json" ? base::Result<std::string>(config) : base::bad_input("none");
  };
  const auto found = find_model("/models/Qwen3-8B", {.read = read, .hub_cache = {}, .read_cached = {}});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->model, "/models/Qwen3-8B/config.json");
  EXPECT_EQ(found->shape.layers, 2);
  EXPECT_EQ(found->why, "");
  EXPECT_THAT(found->uncounted, ElementsAre(std::string(llm::only_language_part)));
}

}  // namespace

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A cache as huggingface_hub creates it: contents in `blobs`, links to them in `snapshots`, and the revision of `main`
/// in `refs`.
class HubCache : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("hub_cache_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void write(const fs::path& file, const std::string& content) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }

  void add(const std::string& model, const std::string& revision, int layers) const {
    const fs::path blob = folder_ / model / "blobs" / ("blob-" + revision);
    write(blob, R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "num_attention_heads": 32,
      "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "num_hidden_layers": )" +
                    std::to_string(layers) + "}");
    const fs::path snapshot = folder_ / model / "snapshots" / revision;
    fs::create_directories(snapshot);
    fs::create_symlink(fs::path("../../blobs") / blob.filename(), snapshot / "config.json");
  }

  std::string cache() const { return folder_.string(); }

  fs::path folder_;
};

TEST_F(HubCache, PrefersTheRevisionOfMain) {
  add("models--Qwen--Qwen3-8B", "aaaa", 10);
  add("models--Qwen--Qwen3-8B", "bbbb", 20);
  EXPECT_FALSE(hub_config_path(cache(), "Qwen/Qwen3-8B")) << "two revisions, neither of them main";
  write(folder_ / "models--Qwen--Qwen3-8B" / "refs" / "main", "bbbb");
  EXPECT_EQ(hub_config_path(cache(), "Qwen/Qwen3-8B"),
            (folder_ / "models--Qwen--Qwen3-8B/snapshots/bbbb/config.json").string());
}

TEST_F(HubCache, UsesTheOnlyRevisionWithAConfiguration) {
  add("models--Qwen--Qwen3-8B", "aaaa", 10);
  fs::create_directories(folder_ / "models--Qwen--Qwen3-8B/snapshots/bbbb");
  EXPECT_EQ(hub_config_path(cache(), "Qwen/Qwen3-8B"),
            (folder_ / "models--Qwen--Qwen3-8B/snapshots/aaaa/config.json").string());
}

TEST_F(HubCache, IgnoresInvalidHubNames) {
  add("models--Qwen--Qwen3-8B", "aaaa", 10);
  for (const char* name : {"Qwen3-8B", "/Qwen/Qwen3-8B", "Qwen/Qwen3-8B/", "Qwen/../Qwen3-8B", "../Qwen3-8B", "Qwen/..",
                           "a/Qwen/Qwen3-8B", "Qwen/Qwen3-4B", "/", ""})
    EXPECT_FALSE(hub_config_path(cache(), name)) << name;
  EXPECT_FALSE(hub_config_path("", "Qwen/Qwen3-8B"));
  write(folder_ / "models--Qwen--Qwen3-8B" / "refs" / "main", "../../elsewhere");
  EXPECT_TRUE(hub_config_path(cache(), "Qwen/Qwen3-8B")) << "no main revision: the only revision is used";
}

TEST_F(HubCache, FolderDependsOnTheEnvironment) {
  EXPECT_EQ(hub_cache_folder({"HF_HOME=/home/of/models", "OTHER=1"}), "/home/of/models/hub");
  EXPECT_EQ(hub_cache_folder({"HF_HOME=/one", "HF_HUB_CACHE=/two"}), "/two");
  EXPECT_EQ(hub_cache_folder({"HF_HOME=/one", "HF_HOME=/three"}), "/three/hub");
  EXPECT_EQ(hub_cache_folder({"HF_HOME=models"}), (fs::current_path() / "models" / "hub").string());
}

constexpr const char* grpo =
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen3-8B "
    "data.train_batch_size=256 actor_rollout_ref.rollout.n=8 actor_rollout_ref.actor.use_dynamic_bsz=True "
    "actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True actor_rollout_ref.ref.log_prob_use_dynamic_bsz=True "
    "actor_rollout_ref.rollout.name=vllm trainer.n_gpus_per_node=8\n";

TEST_F(HubCache, ProvidesTheShapeOfAModelInAScript) {
  add("models--Qwen--Qwen3-8B", "aaaa", 20);
  const base::Result<Import> read = import_run("run.sh", grpo, {}, cache());
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  const std::string config = (folder_ / "models--Qwen--Qwen3-8B/snapshots/aaaa/config.json").string();
  EXPECT_NE(std::find(read->files.begin(), read->files.end(), config), read->files.end())
      << "must be listed among the files read";
  EXPECT_THAT(read->text, HasSubstr(config));
  const auto actor = std::find_if(read->job.models.begin(), read->job.models.end(), [](const llm::Transformer& model) {
    return model.layers == 20 && model.name == "Qwen3-8B";
  });
  EXPECT_NE(actor, read->job.models.end());
  EXPECT_EQ(findings_text(*read, read->run.assumed).find("guessed"), std::string::npos);
  const base::Result<Import> without = import_run("run.sh", grpo, {});
  ASSERT_TRUE(without.ok()) << base::to_text(without.error());
  EXPECT_THAT(without->text, HasSubstr("actor: qwen3-8b"));
}

TEST_F(HubCache, BrokenCachesAreErrorsOrIgnored) {
  write(folder_ / "models--Qwen--Qwen3-8B/snapshots/aaaa/config.json", "{");
  const base::Result<Import> broken = import_run("run.sh", grpo, {}, cache());
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, HasSubstr("`Qwen/Qwen3-8B`"));
  fs::remove_all(folder_ / "models--Qwen--Qwen3-8B");
  // Links that lead out of the cache are not followed.
  write(fs::path(cache() + "_outside") / "config.json", "{}");
  fs::create_directories(folder_ / "models--Qwen--Qwen3-8B/snapshots/aaaa");
  fs::create_symlink(fs::path(cache() + "_outside") / "config.json",
                     folder_ / "models--Qwen--Qwen3-8B/snapshots/aaaa/config.json");
  const base::Result<Import> outside = import_run("run.sh", grpo, {}, cache());
  fs::remove_all(cache() + "_outside");
  ASSERT_TRUE(outside.ok()) << base::to_text(outside.error());
  EXPECT_THAT(outside->text, HasSubstr("actor: qwen3-8b"));
}

}  // namespace

}  // namespace dovetail::trainers
