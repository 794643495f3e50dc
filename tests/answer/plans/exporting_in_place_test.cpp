#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "answer/plans/example_jobs.h"
#include "plan/plan_file.h"
#include "support/effort.h"
#include "trainers/export/word_edit.h"
#include "trainers/export/yaml_edit.h"
#include "trainers/export_run.h"
#include "trainers/slime/slime.h"

namespace dovetail::answer {
namespace {

using Random = std::mt19937;

template <class Value>
Value one_of(Random& random, const std::vector<Value>& values) {
  return values[random() % values.size()];
}
int any_degree(Random& random) { return one_of<int>(random, {1, 1, 2, 4}); }
bool any_flag(Random& random) { return random() % 2 == 0; }
std::string any_share(Random& random) { return one_of<std::string>(random, {"0.5", "0.6", "0.75"}); }
std::string flag_of(bool value) { return value ? "true" : "false"; }
std::string if_so(bool holds, const std::string& text) { return holds ? text : std::string(); }

/// Random slime script for a job. `sparse`: with experts; `colocated`: engines share the trainer's GPUs.
std::string random_slime(Random& random, bool sparse, bool colocated) {
  const int tensor = any_degree(random);
  const std::string shape =
      sparse ? "--num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 --num-attention-heads 32 --kv-channels 128 "
               "--num-query-groups 4 --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 "
               "--moe-grouped-gemm --untie-embeddings-and-output-weights "
             : "--num-layers 36 --hidden-size 2560 --ffn-hidden-size 9728 --num-attention-heads 32 --kv-channels 128 "
               "--num-query-groups 8 ";
  std::string text =
      "#!/bin/bash\n# a comment\nMODEL_ARGS=(--swiglu " + shape +
      "--group-query-attention\n   --use-rotary-position-embeddings --disable-bias-linear --normalization RMSNorm\n"
      "   --vocab-size 151936 --qk-layernorm)\n\nPERF_ARGS=(\n";
  const auto add = [&text](const std::string& flags) { text += flags.empty() ? "" : "   " + flags + "\n"; };
  add(fmt::format("--tensor-model-parallel-size {}  # of attention", tensor));
  add(if_so(sparse || any_flag(random), "--sequence-parallel"));
  add(fmt::format("--pipeline-model-parallel-size {}", one_of<int>(random, {1, 2})));
  add(if_so(any_flag(random), fmt::format("--context-parallel-size {}", one_of<int>(random, {1, 2}))));
  if (sparse)
    add(fmt::format("--expert-model-parallel-size {} --expert-tensor-parallel-size {}", any_degree(random),
                    one_of<int>(random, {1, 2})));
  add(one_of<std::string>(random, {"", "--recompute-granularity selective", "--moe-layer-recompute",
                                   "--recompute-granularity selective\n   --recompute-modules moe",
                                   "--recompute-granularity full\n   --recompute-method uniform\n   "
                                   "--recompute-num-layers 1"}));
  add(any_flag(random)
          ? fmt::format("--use-dynamic-batch-size --max-tokens-per-gpu {}", one_of<int>(random, {4096, 9216}))
          : fmt::format("--micro-batch-size {}", one_of<int>(random, {1, 2})));
  add(if_so(any_flag(random), "--optimizer-cpu-offload --use-precision-aware-optimizer"));
  text += ")\nSGLANG_ARGS=(\n";
  add(fmt::format("--rollout-num-gpus-per-engine {}", any_degree(random)));
  add(if_so(any_flag(random), "--sglang-mem-fraction-static " + any_share(random)));
  add(if_so(any_flag(random), "--sglang-max-running-requests 128"));
  add(if_so(any_flag(random), "--sglang-chunked-prefill-size 4096"));
  add(if_so(any_flag(random), "--sglang-disable-cuda-graph"));
  text +=
      ")\n\nray job submit --address=\"http://127.0.0.1:8265\" \\\n   -- python3 train.py \\\n"
      "   --actor-num-nodes 1 --actor-num-gpus-per-node 8 \\\n   " +
      std::string(colocated ? "--colocate " : "--rollout-num-gpus 8 ") +
      one_of<std::string>(random, {"", "--offload-train ", "--no-offload-train "}) + "--hf-checkpoint /models/Qwen3-" +
      std::string(sparse ? "30B-A3B" : "4B") +
      " --num-rollout 100 --rollout-batch-size 32 \\\n"
      "   --n-samples-per-prompt 8 --rollout-max-response-len 4096 --rollout-max-prompt-len 1024 \\\n"
      "   --global-batch-size 128 --use-kl-loss --ref-load /models/ref \\\n"
      "   ${MODEL_ARGS[@]} ${PERF_ARGS[@]} ${SGLANG_ARGS[@]}\n";
  return text;
}

/// A ROLL role for training or inference with `strategy`.
std::string roll_role(Random& random, const std::string& strategy) {
  const bool trains = strategy.ends_with("train");
  std::string text = fmt::format("    strategy_name: {}  # the strategy\n", strategy);
  if (!strategy.starts_with("megatron"))
    return text + fmt::format("    strategy_config: {{param_dtype: bf16{}}}\n",
                              any_flag(random) ? ", reshard_after_forward: " + flag_of(any_flag(random)) : "");
  text += fmt::format("    strategy_config:\n      tensor_model_parallel_size: {}\n      sequence_parallel: {}\n",
                      any_degree(random), flag_of(any_flag(random)));
  text += if_so(any_flag(random), fmt::format("      pipeline_model_parallel_size: {}\n", one_of<int>(random, {1, 2})));
  text += if_so(any_flag(random), "      context_parallel_size: 2\n");
  if (!trains) return text;
  text += fmt::format("      use_distributed_optimizer: {}\n", flag_of(any_flag(random)));
  return text + fmt::format("      recompute_granularity: {}\n",
                            one_of<std::string>(random, {"full", "selective", "selective\n      recompute_modules: moe",
                                                         "null", "null\n      moe_layer_recompute: true"}));
}

std::string random_roll(Random& random, bool megatron, bool sglang) {
  const int each = one_of<int>(random, {1, 2});
  std::string text =
      "# of ROLL\nrollout_batch_size: 64\nprompt_length: 1024\nresponse_length: 3072\n\n"
      "num_return_sequences_in_group: 8\nadv_estimator: 'grpo'\npretrain: Qwen/Qwen3-4B\n";
  text += if_so(any_flag(random), "max_running_requests: 256\n");
  text += "actor_train:\n  model_args:\n    dtype: bf16\n";
  text += if_so(any_flag(random), fmt::format("    disable_gradient_checkpointing: {}\n", flag_of(any_flag(random))));
  text += fmt::format(
      "  training_args:\n    learning_rate: 1.0e-6\n    per_device_train_batch_size: {}\n"
      "    gradient_accumulation_steps: {}\n",
      each, 128 / each / one_of<int>(random, {1, 2, 4, 8, 16}));
  text += "  strategy_args:\n" + roll_role(random, megatron ? "megatron_train" : "fsdp2_train");
  text += fmt::format("  device_mapping: list(range(0,16))\n  infer_batch_size: {}\n\n", one_of<int>(random, {2, 4}));
  text += fmt::format("actor_infer:\n  strategy_args: {{strategy_name: {}, strategy_config: {{{}: {}",
                      sglang ? "sglang" : "vllm", sglang ? "mem_fraction_static" : "gpu_memory_utilization",
                      any_share(random));
  const int tensor = any_degree(random);
  text += fmt::format(", tensor_parallel_size: {}}}}}\n", tensor);
  text += if_so(sglang, fmt::format("  num_gpus_per_worker: {}\n", tensor));
  text += "  device_mapping: list(range(0,16))\nreference:\n  strategy_args:\n" +
          roll_role(random, megatron ? "megatron_infer" : "fsdp2_infer");
  return text +
         fmt::format("  device_mapping: list(range(0,16))\n  infer_batch_size: {}\n", one_of<int>(random, {2, 8}));
}

/// An AReaL backend for training on eight GPUs.
std::string areal_backend(Random& random, bool megatron) {
  const int tensor = any_degree(random);
  const int stages = megatron ? one_of<int>(random, {1, 2}) : 1;
  const int context = tensor < 4 ? one_of<int>(random, {1, 2}) : 1;
  return fmt::format("{}:d{}p{}t{}c{}", megatron ? "megatron" : "fsdp", 8 / tensor / stages / context, stages, tensor,
                     context);
}

std::string random_areal(Random& random, bool megatron, bool vllm) {
  const int tensor = any_degree(random);
  std::string text = fmt::format(
      "# of AReaL\ncluster: {{n_nodes: 2, n_gpus_per_node: 8}}\nrollout:\n  backend: "
      "\"{}:d{}t{}\"\n  max_concurrent_rollouts: {}\n  consumer_batch_size: 64\n",
      vllm ? "vllm" : "sglang", 8 / tensor, tensor, one_of<int>(random, {64, 256}));
  text += "gconfig: {n_samples: 4, max_new_tokens: 1024}\nactor:\n  backend: '" + areal_backend(random, megatron) +
          "'  # how it is cut\n  path: Qwen/Qwen3-4B\n";
  text += if_so(any_flag(random), fmt::format("  gradient_checkpointing: {}\n", flag_of(any_flag(random))));
  text += any_flag(random) ? fmt::format("  mb_spec:\n    max_tokens_per_mb: {}\n", one_of<int>(random, {8192, 16384}))
                           : fmt::format("  mb_spec: {{n_mbs: {}}}\n", one_of<int>(random, {2, 4}));
  text += if_so(!megatron && any_flag(random), "  fsdp: {offload_params: true}\n");
  text += if_so(megatron && any_flag(random),
                "  megatron:\n    recompute_granularity: selective\n    recompute_method: null\n"
                "    recompute_num_layers: null\n" +
                    if_so(any_flag(random), "    recompute_modules: [moe]\n"));
  text += "  optimizer: {type: adam, lr: 1.7e-5}\n  kl_ctl: 0.01\n  ppo_n_minibatches: 2\n  use_decoupled_loss: true\n";
  text +=
      "ref:\n  backend: ${actor.backend}\n  path: ${actor.path}\n  mb_spec: {max_tokens_per_mb: 20480}\n"
      "  scheduling_strategy: {type: colocation, target: actor}\n";
  text += fmt::format("sglang: {{context_length: 32768, mem_fraction_static: {}}}\nvllm:\n  max_model_len: 32768\n",
                      any_share(random));
  text += if_so(any_flag(random), "  gpu_memory_utilization: " + any_share(random) + "\n");
  return text + "train_dataset: {batch_size: 64, max_length: 512}\n";
}

/// Configurations of one trainer. Plans of one are exported over another one of the same job.
struct Dialect {
  std::string trainer;
  std::string file;
  std::function<std::string(Random&)> make;
};

base::Result<trainers::Import> import_of(const Dialect& dialect, const std::string& content) {
  return trainers::import_run(dialect.file, content, example_import_options());
}

/// Tasks of a plan as JSON, without settings that one device or a forward pass does not need.
std::string task_lines(const plan::Job& job, plan::Plan plan) {
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    llm::Layout& layout = plan.tasks[task].layout;
    const auto kind = job.workflow.tasks[task].kind;
    if ((kind == workflow::TaskKind::infer && layout.zero < 3) || layout.data * layout.context == 1) layout.zero = 0;
  }
  plan.placement = "custom";
  std::istringstream stream(plan::plan_to_json(plan, job));
  std::string text;
  for (std::string line; std::getline(stream, line);)
    if (line.find("\"task\"") != std::string::npos) text += line + "\n";
  return text;
}

std::string edited_by(const Dialect& dialect, const std::string& content, const trainers::Import& import,
                      const std::vector<trainers::Change>& changes) {
  if (import.launch) {
    const auto text = trainers::edit_flags(content, *import.launch, trainers::slime_flags(), changes, import.files);
    return text.ok() ? *text : base::to_text(text.error());
  }
  std::vector<trainers::YamlEdit> edits;
  for (const trainers::Change& change : changes) {
    edits.push_back({change.set.key, change.set.value});
    for (const trainers::Setter& more : change.with) edits.push_back({more.key, more.value});
  }
  const auto text = trainers::edit_yaml(content, dialect.file, edits, import.settings);
  return text.ok() ? *text : base::to_text(text.error());
}

/// Lines of `content` without settings that `changes` touch.
std::vector<std::string> kept_lines(const std::string& content, const std::vector<trainers::Change>& changes) {
  std::vector<std::string> names;
  const auto add = [&names](const trainers::Setter& set) {
    std::string name = set.key.substr(set.key.rfind('.') + 1);
    for (const char* const sign : {"--", "no-"})
      if (name.starts_with(sign)) name.erase(0, std::string_view(sign).size());
    names.push_back(name);
  };
  for (const trainers::Change& change : changes) {
    add(change.set);
    for (const trainers::Setter& more : change.with) add(more);
  }
  std::vector<std::string> lines;
  std::istringstream stream(content);
  for (std::string line; std::getline(stream, line);) {
    const bool is_named = std::any_of(names.begin(), names.end(),
                                      [&](const std::string& name) { return line.find(name) != std::string::npos; });
    // New members are inserted after the brace.
    if (!is_named) lines.push_back(line.substr(0, line.find('{')));
  }
  return lines;
}

/// Whether `lines` appear in `text` in this order.
bool has_in_order(const std::string& text, const std::vector<std::string>& lines) {
  std::istringstream stream(text);
  auto next = lines.begin();
  for (std::string line; std::getline(stream, line) && next != lines.end();)
    if (line.starts_with(*next)) ++next;
  return next == lines.end();
}

std::string without_master_type(std::string job) {
  const std::string setting = ", master_type: remainder";
  if (const std::size_t at = job.find(setting); at != std::string::npos) job.erase(at, setting.size());
  return job;
}

void expect_plan_over(const Dialect& dialect, Random& random) {
  for (int tries = 0; tries < 1000; ++tries) {
    const std::string content = dialect.make(random);
    const auto base = import_of(dialect, content);
    const auto wanted = import_of(dialect, dialect.make(random));
    if (!base.ok() || !wanted.ok() || base->text != wanted->text) continue;
    const auto made =
        trainers::export_run({dialect.file, content, example_import_options()}, wanted->plan, dialect.trainer);
    ASSERT_TRUE(made.ok()) << base::to_text(made.error()) << content;
    const std::string plan = task_lines(wanted->job, wanted->plan);
    const auto again = import_of(dialect, made->content);
    ASSERT_TRUE(again.ok()) << base::to_text(again.error()) << made->content;
    // Flags for the optimizer on the host remain, and so does the type of its master weights.
    EXPECT_EQ(without_master_type(again->text), without_master_type(base->text));
    EXPECT_EQ(task_lines(again->job, again->plan), plan) << made->content;
    std::vector<trainers::Change> changes;
    for (const trainers::RequiredChange& kept : made->changes) changes.push_back(kept.change);
    EXPECT_TRUE(has_in_order(made->content, kept_lines(content, changes))) << content << made->content;
    for (std::size_t index = 0; index < changes.size(); ++index) {
      std::vector<trainers::Change> fewer = changes;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(index));
      const auto without = import_of(dialect, edited_by(dialect, content, *base, fewer));
      EXPECT_TRUE(!without.ok() || without->text != base->text || task_lines(without->job, without->plan) != plan)
          << changes[index].set.key << content;
    }
    return;
  }
  FAIL() << "no two files of one job in 1000 attempts";
}

class ExportInPlace : public testing::TestWithParam<Dialect> {};

TEST_P(ExportInPlace, ChangedFileRunsThePlanWithMinimalChanges) {
  Random random(7);
  for (int i = 0; i < test::effort(15) && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    expect_plan_over(GetParam(), random);
  }
}

TEST_P(ExportInPlace, CompleteFileImportsBackToTheJobAndThePlan) {
  Random random(11);
  const Dialect& dialect = GetParam();
  int written = 0;
  for (int tries = 0; tries < 1000 && written < test::effort(10); ++tries) {
    const auto wanted = import_of(dialect, dialect.make(random));
    if (!wanted.ok()) continue;
    ++written;
    const auto made = trainers::export_complete_file(wanted->job, wanted->plan, dialect.trainer);
    ASSERT_TRUE(made.ok()) << base::to_text(made.error()) << plan::plan_to_json(wanted->plan, wanted->job);
    trainers::ImportOptions options = example_import_options();
    for (const trainers::RequiredName& required : made->required)
      options.environment.push_back(required.name + "=" + required.example);
    const auto again = trainers::import_run(dialect.file, made->content, options);
    ASSERT_TRUE(again.ok()) << base::to_text(again.error()) << made->content;
    EXPECT_EQ(again->text, wanted->text) << made->content;
    EXPECT_EQ(task_lines(again->job, again->plan), task_lines(wanted->job, wanted->plan)) << made->content;
  }
  EXPECT_EQ(written, test::effort(10));
}

INSTANTIATE_TEST_SUITE_P(
    Trainers, ExportInPlace,
    testing::Values(Dialect{"slime", "run.sh", [](Random& random) { return random_slime(random, false, true); }},
                    Dialect{"slime", "run.sh", [](Random& random) { return random_slime(random, true, false); }},
                    Dialect{"roll", "rlvr.yaml", [](Random& random) { return random_roll(random, true, false); }},
                    Dialect{"roll", "rlvr.yaml", [](Random& random) { return random_roll(random, false, true); }},
                    Dialect{"areal", "grpo.yaml", [](Random& random) { return random_areal(random, false, false); }},
                    Dialect{"areal", "grpo.yaml", [](Random& random) { return random_areal(random, true, true); }}));

}  // namespace
}  // namespace dovetail::answer
