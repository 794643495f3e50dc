#include "trainers/import_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "trainers/imported.h"

namespace dovetail::trainers {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string command =
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=256 "
    "data.max_prompt_length=512 data.max_response_length=1024 actor_rollout_ref.model.path=Qwen/Qwen3-8B "
    "actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 actor_rollout_ref.rollout.name=vllm "
    "actor_rollout_ref.rollout.n=8 trainer.n_gpus_per_node=8 trainer.nnodes=1";

std::string error_of(const std::string& path, const std::string& content, const ImportOptions& options = {}) {
  const base::Result<Import> import = import_run(path, content, options);
  return import.ok() ? "" : import.error().message;
}

TEST(ImportRun, ArgumentsMustChangeTheLaunch) {
  ImportOptions options;
  options.arguments = {"trainer.nnodes=2"};
  const std::string start = "#!/bin/bash\nset -x\n";
  EXPECT_EQ(error_of("run.sh", start + command + "\n", options),
            "run.sh does not use its arguments, so `trainer.nnodes=2` would change nothing; accepted: a script whose "
            "command ends with \"$@\"");
  EXPECT_EQ(import_run("run.sh", start + command + " \"$@\"\n", options)->job.cluster.groups.front().nodes, 2);
  EXPECT_EQ(import_run("run.sh", start + command + " trainer.project_name=\"$1\"\n", options)
                ->job.cluster.groups.front()
                .nodes,
            1);
}

TEST(ImportRun, OneStatisticOfLengthsIsReadWithTheUsualSpread) {
  ImportOptions options;
  options.response_length = "mean=300";
  const ImportedText one = imported_text_of("run.sh", command, options);
  EXPECT_THAT(one.job, HasSubstr("response_length: {mean: 300, sigma: 0.8, cap: 1024}"));
  EXPECT_THAT(one.assumed, HasSubstr("--response-length mean=300: the spread is not given; assumed to be sigma=0.8"));
  options.response_length = "p50=300,cap=900";
  EXPECT_THAT(imported_text_of("run.sh", command, options).job,
              HasSubstr("response_length: {p50: 300, cap: 900, sigma: 0.8}"));
  for (const char* enough : {"mean=300,p90=700", "sigma=1,mean=300", "cap=900,mean=300,p90=700"}) {
    options.response_length = enough;
    EXPECT_THAT(imported_text_of("run.sh", command, options).assumed, Not(HasSubstr("spread"))) << enough;
  }
  for (const char* alone : {"sigma=1", "cap=900,sigma=1"}) {
    options.response_length = alone;
    EXPECT_THAT(error_of("run.sh", command, options), HasSubstr("`sigma` is combined with no other statistic"));
  }
}

TEST(ImportRun, NamesOtherTrainers) {
  const std::string accepted = "one of verl, nemo-rl, openrlhf, roll, areal, slime";
  EXPECT_EQ(error_of("run.sh", "python -u train.py rllm/backend=verl algorithm.adv_estimator=grpo\n"),
            "the script starts no supported trainer (it looks like rLLM, which is not supported); accepted: a script "
            "that starts " +
                accepted);
  EXPECT_EQ(error_of("run.sh", "llamafactory-cli train ppo.yaml\n"),
            "the script starts no supported trainer (it looks like LLaMA-Factory, which is not supported); accepted: a "
            "script that starts " +
                accepted);
  EXPECT_EQ(error_of("run.sh", "echo ctrl c\n"),
            "the script starts no supported trainer; accepted: a script that starts " + accepted);
  EXPECT_THAT(error_of("run.yaml", "worker: {actor: {micro_batch_size_per_device_for_update: 1}}\n"),
              HasSubstr("it looks like EasyR1"));
  EXPECT_THAT(error_of("run.yaml", "rollout_batch_size: 64\n"), Not(HasSubstr("it looks like")));
  EXPECT_THAT(error_of("run.yaml", "stage: ppo\nfinetuning_type: lora\n"),
              HasSubstr("not a configuration of a supported trainer (it looks like LLaMA-Factory, which is not "
                        "supported); accepted: configurations of verl, nemo-rl, roll, areal, launch scripts of "));
}

TEST(ImportRun, ReadsTheOverridesOfAFailedHydraRun) {
  std::string list = "Error executing job with overrides: [";
  for (std::size_t begin = command.find("algorithm"), end = 0; end < command.size(); begin = end + 1) {
    end = std::min(command.find(' ', begin), command.size());
    list += (list.ends_with('[') ? "'" : ", '") + command.substr(begin, end - begin) + "'";
  }
  const ImportedText failed = imported_text_of("log.txt", "Traceback\n" + list + "]\nmore\n");
  EXPECT_EQ(failed.plan, imported_text_of("log.txt", "#!/bin/bash\n" + command).plan);
  EXPECT_EQ(failed.ignored, "");
}

TEST(ImportRun, UnknownGpusAreSpecifiedByAClusterFile) {
  ImportOptions options;
  options.gpu = "TPU";
  EXPECT_THAT(error_of("run.sh", command, options), HasSubstr(", or --cluster FILE with `cluster: {"));
  options.gpu.reset();
  options.cluster = "2x8xTPU";
  EXPECT_THAT(error_of("run.sh", command, options), HasSubstr(", or --cluster FILE with `cluster: {"));
}

}  // namespace
}  // namespace dovetail::trainers
