// Models that Hugging Face's libraries have fetched.
#include "trainers/import/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "trainers/imported.h"

namespace dovetail::trainers {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// A cache as huggingface_hub makes it: contents in `blobs`, snapshots that link to them, what `main` was in `refs`.
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

TEST_F(HubCache, HasTheRevisionThatMainWas) {
  add("models--Qwen--Qwen3-8B", "aaaa", 10);
  add("models--Qwen--Qwen3-8B", "bbbb", 20);
  EXPECT_FALSE(hub_config_path(cache(), "Qwen/Qwen3-8B")) << "two revisions, and none is main";
  write(folder_ / "models--Qwen--Qwen3-8B" / "refs" / "main", "bbbb");
  EXPECT_EQ(hub_config_path(cache(), "Qwen/Qwen3-8B"),
            (folder_ / "models--Qwen--Qwen3-8B/snapshots/bbbb/config.json").string());
}

TEST_F(HubCache, HasTheOnlyRevisionWithAConfiguration) {
  add("models--Qwen--Qwen3-8B", "aaaa", 10);
  fs::create_directories(folder_ / "models--Qwen--Qwen3-8B/snapshots/bbbb");
  EXPECT_EQ(hub_config_path(cache(), "Qwen/Qwen3-8B"),
            (folder_ / "models--Qwen--Qwen3-8B/snapshots/aaaa/config.json").string());
}

TEST_F(HubCache, IsLeftAloneByNamesThatAreNoneOfTheHub) {
  add("models--Qwen--Qwen3-8B", "aaaa", 10);
  for (const char* name : {"Qwen3-8B", "/Qwen/Qwen3-8B", "Qwen/Qwen3-8B/", "Qwen/../Qwen3-8B", "../Qwen3-8B", "Qwen/..",
                           "a/Qwen/Qwen3-8B", "Qwen/Qwen3-4B", "/", ""})
    EXPECT_FALSE(hub_config_path(cache(), name)) << name;
  EXPECT_FALSE(hub_config_path("", "Qwen/Qwen3-8B"));
  write(folder_ / "models--Qwen--Qwen3-8B" / "refs" / "main", "../../elsewhere");
  EXPECT_TRUE(hub_config_path(cache(), "Qwen/Qwen3-8B")) << "no revision: the only one";
}

TEST_F(HubCache, IsWhereTheEnvironmentSays) {
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

TEST_F(HubCache, GivesTheShapeOfAModelThatAScriptNames) {
  add("models--Qwen--Qwen3-8B", "aaaa", 20);
  const base::Result<Import> read = import_run("run.sh", grpo, {}, cache());
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  const std::string config = (folder_ / "models--Qwen--Qwen3-8B/snapshots/aaaa/config.json").string();
  EXPECT_NE(std::find(read->files.begin(), read->files.end(), config), read->files.end()) << "it is said to be read";
  EXPECT_THAT(read->text, HasSubstr(config));
  const auto actor = std::find_if(read->job.models.begin(), read->job.models.end(), [](const llm::Transformer& model) {
    return model.layers == 20 && model.name == "Qwen3-8B";
  });
  EXPECT_NE(actor, read->job.models.end());
  EXPECT_EQ(told(*read, read->run.assumed).find("guessed"), std::string::npos);
  const base::Result<Import> without = import_run("run.sh", grpo, {});
  ASSERT_TRUE(without.ok()) << base::to_text(without.error());
  EXPECT_THAT(without->text, HasSubstr("actor: qwen3-8b"));
}

TEST_F(HubCache, ThatIsBrokenIsAnErrorOrIsPassedOver) {
  write(folder_ / "models--Qwen--Qwen3-8B/snapshots/aaaa/config.json", "{");
  const base::Result<Import> broken = import_run("run.sh", grpo, {}, cache());
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, HasSubstr("`Qwen/Qwen3-8B`"));
  fs::remove_all(folder_ / "models--Qwen--Qwen3-8B");
  // A link that leads out of the cache is not followed.
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
