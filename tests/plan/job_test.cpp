#include "plan/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "plan/jobs.h"
#include "support/other_value.h"

namespace dovetail::plan {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// The lines of a job, which the tests modify.
struct Lines {
  std::string algorithm = "algorithm: {name: grpo, reference: pass, reward: rule, reward_seconds: 0.5}\n";
  std::string models = "models: {actor: llama-3.2-1b}\n";
  std::string workload =
      "workload: {prompts: 64, mini_batch: 16, prompt_length: 100, response_length: {mean: 300, sigma: 0.5, cap: "
      "900}}\n";
  std::string cluster = "cluster: {nodes: 2, gpus_per_node: 8, gpu: H100, network: {bandwidth: 3e9}}\n";
  std::string rest = "fixed: {actor_train: {devices: 0-7, layout: {tp: 2}}, placement: [b, a]}\n";
};

Job parsed_job(const Lines& lines, const std::string& path = "job.yaml") {
  const auto job = parse_job(
      "format: dovetail/job@1\n" + lines.algorithm + lines.models + lines.workload + lines.cluster + lines.rest, path);
  EXPECT_TRUE(job.ok()) << base::to_text(job.error());
  return job.value();
}

std::string hash_of_lines(const Lines& lines) { return job_hash(parsed_job(lines)); }

std::string hash_with(std::string Lines::* member, const std::string& text) {
  Lines lines;
  lines.*member = text + "\n";
  return hash_of_lines(lines);
}

TEST(JobHash, IsTheHashOfTheCanonicalJob) {
  const Job job = parsed_job({});
  EXPECT_EQ(job_hash(job), base::sha256_hex(canonical_job(job)));
  EXPECT_THAT(canonical_job(job), StartsWith(R"({"cluster":{"groups":[{"gpu":{"bandwidth":3350000000000,"bf16":989)"));
  EXPECT_THAT(
      canonical_job(job),
      HasSubstr(R"("fixed":{"actor_train":{"devices":"0-7","layout":{"tp":2}},"placement":["a","b"]},"models":[{)"));
  EXPECT_THAT(canonical_job(job), HasSubstr(R"("nanoseconds":500000000)"));
}

/// Gives each member of `part`, a part of `job`, another value in turn.
template <class T>
void expect_in_hash(Job& job, T& part) {
  const std::string hash = job_hash(job);
  base::for_each_field<T>([&](const auto& field) {
    const T before = part;
    part.*field.member = dovetail::test::other_value(field.kind, part.*field.member);
    EXPECT_EQ(job_hash(job) == hash, field.options.hashed == base::Hashed::never) << field.key;
    part = before;
  });
}

TEST(JobHash, DependsOnEachMemberOfAModel) {
  Job job = parsed_job({});
  llm::Transformer& model = job.models.front();
  expect_in_hash(job, model);
  model.latent.emplace();
  expect_in_hash(job, *model.latent);
  model.experts.emplace();
  expect_in_hash(job, *model.experts);
}

/// Different spellings of the same job.
TEST(JobHash, IsTheSameForAllSpellings) {
  const std::string hash = hash_of_lines({});
  EXPECT_EQ(hash_with(&Lines::algorithm,
                      "algorithm: {reward_seconds: 0.50, reward: rule, name: grpo, policy_log_probabilities: trainer}"),
            hash);
  EXPECT_EQ(hash_with(&Lines::models, "models: {reference: llama-3.2-1b, actor: llama-3.2-1b}"), hash);
  EXPECT_EQ(hash_with(&Lines::workload,
                      "workload: {prompts: 64, samples_per_prompt: 1, mini_batches: 4, epochs: 1, packing: true, "
                      "steps_off_policy: 0,\n"
                      "  prompt_length: 100, response_length: {cap: 900, sigma: 5e-1, mean: 300.0}}"),
            hash);
  for (const std::string cluster :
       {"cluster: {nodes: 2, gpus_per_node: 8, gpu: h100-80gb, network: {bandwidth: 3GB/s}}",
        "cluster: {nodes: 2, gpus_per_node: 8, gpu: H100-80, host_memory: 2e12, network: {bandwidth: 24Gb/s, latency: "
        "5us}}",
        "cluster: {groups: [{nodes: 1, gpus_per_node: 8, gpu: H100}, {nodes: 1, gpus_per_node: 8, gpu: H100, "
        "host_memory: 2TB}],\n"
        "  networks: [{name: cables, bandwidth: 3000000000, latency: 0.000005}]}"})
    EXPECT_EQ(hash_with(&Lines::cluster, cluster), hash) << cluster;
  EXPECT_EQ(hash_with(&Lines::rest,
                      "name: another\nsoftware: {prefetch: false}\n"
                      "fixed: {placement: [a, b], actor_infer: {}, actor_train: {layout: {tp: 2}, devices: \"0-7\"}}"),
            hash);
}

TEST(JobHash, IsTheSameForAGraphAndForAModelByItsShape) {
  const auto hash = [](const std::string& algorithm, const std::string& model) {
    return hash_of_lines({algorithm + "\n", "models: {actor: " + model + "}\n", Lines{}.workload, Lines{}.cluster, ""});
  };
  const std::string shape =
      "{model_type: llama, hidden_size: 2048, intermediate_size: 8192, num_attention_heads: 32, num_hidden_layers: 16, "
      "num_key_value_heads: 8, head_dim: 64, vocab_size: 128256, tie_word_embeddings: true, torch_dtype: bfloat16}";
  EXPECT_EQ(hash("algorithm: sft", shape), hash("algorithm: sft", "llama-3.2-1b"));
  EXPECT_EQ(parsed_job({"algorithm: sft\n", "models: {actor: " + shape + "}\n", Lines{}.workload, Lines{}.cluster, ""})
                .models.front()
                .name,
            "actor");
  const Job sft =
      parsed_job({"algorithm: sft\n", "models: {actor: llama-3.2-1b}\n", Lines{}.workload, Lines{}.cluster, ""});
  std::string inputs;
  for (const std::string& key : sft.workflow.tasks.front().inputs) inputs += (inputs.empty() ? "" : ", ") + key;
  EXPECT_EQ(hash("algorithm: {roles: [{name: actor}], tasks: [{name: actor_train, kind: train, role: actor, inputs: [" +
                     inputs + "]}]}",
                 "llama-3.2-1b"),
            hash("algorithm: sft", "llama-3.2-1b"));
}

TEST(JobHash, DoesNotDependOnTheJobsFolder) {
  Lines lines;
  lines.rest = "software: {efficiency: sets/ours.json}\n";
  EXPECT_EQ(job_hash(parsed_job(lines, "job.yaml")), job_hash(parsed_job(lines, "/there/it/is/job.yaml")));
  lines.rest = "software: {efficiency: sets/theirs.json}\n";
  const std::string theirs = job_hash(parsed_job(lines));
  lines.rest = "software: {efficiency: sets/ours.json}\n";
  EXPECT_NE(job_hash(parsed_job(lines)), theirs);
}

/// Every change that matters gives a different hash.
TEST(JobHash, DiffersForDifferentJobs) {
  std::set<std::string> hashes{hash_of_lines({})};
  std::size_t jobs = 1;
  const auto expect_new = [&](std::string Lines::* member, const std::string& text) {
    hashes.insert(hash_with(member, text));
    EXPECT_EQ(hashes.size(), ++jobs) << text;
    jobs = hashes.size();
  };
  for (const std::string options :
       {"name: grpo, reward: rule", "name: grpo, reward: rule, reward_seconds: 0.6",
        "name: grpo, reward: rule, reference: skip", "name: grpo, reward: rule, reference: averaged",
        "name: grpo, reward: rule, reference: averaged, reference_decay: 0.5",
        "name: grpo, reward: rule, reward_seconds: 0.5, policy_log_probabilities: engine",
        "name: grpo, reward: rule, ptx_tokens: 7"})
    expect_new(&Lines::algorithm, "algorithm: {" + options + "}");
  for (const std::string model :
       {"llama-3.2-3b", "qwen3-0.6b", "{model: llama-3.2-1b, lora: 8}", "mixtral-8x7b", "opt-1.3b"})
    expect_new(&Lines::models, "models: {actor: " + model + "}");
  for (const std::string counts :
       {"prompts: 65, mini_batch: 13", "prompts: 64, mini_batch: 32",
        "prompts: 32, samples_per_prompt: 2, mini_batch: 16", "prompts: 64, mini_batch: 16, epochs: 2",
        "prompts: 64, mini_batch: 16, steps_off_policy: 1", "prompts: 64, mini_batch: 16, packing: false"})
    expect_new(&Lines::workload,
               "workload: {" + counts + ", prompt_length: 100, response_length: {mean: 300, sigma: 0.5, cap: 900}}");
  for (const std::string lengths : {"prompt_length: 101, response_length: {mean: 300, sigma: 0.5, cap: 900}",
                                    "prompt_length: 100, response_length: {mean: 300, sigma: 0.5, cap: 901}",
                                    "prompt_length: 100, response_length: 300, sequence_cap: 1000"})
    expect_new(&Lines::workload, "workload: {prompts: 64, mini_batch: 16, " + lengths + "}");
  for (const std::string cluster :
       {"nodes: 3, gpus_per_node: 8, gpu: H100, network: {bandwidth: 3e9}",
        "nodes: 2, gpus_per_node: 16, gpu: H100, network: {bandwidth: 3e9}",
        "nodes: 2, gpus_per_node: 8, gpu: H200, network: {bandwidth: 3e9}", "nodes: 2, gpus_per_node: 8, gpu: H100",
        "nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB, network: {bandwidth: 3e9}",
        "nodes: 2, gpus_per_node: 8, gpu: H100, network: {bandwidth: 3e9, latency: 6us}",
        "nodes: 2, gpus_per_node: 8, gpu: H100, network: {bandwidth: 3e9, half_bandwidth_size: 1MB}",
        "nodes: 2, gpus_per_node: 8, gpu: H100, network: {bandwidth: 3e9}, price: 2",
        "nodes: 2, gpus_per_node: 8, gpu: H100, networks: [{name: a, nodes: 2, bandwidth: 3e9}, {name: b, bandwidth: "
        "3e9}]"})
    expect_new(&Lines::cluster, "cluster: {" + cluster + "}");
  for (const std::string rest : {"",
                                 "fixed: {actor_train: {devices: 0-7, layout: {tp: 2}}}",
                                 "fixed: {actor_train: {devices: 8-15, layout: {tp: 2}}, placement: [b, a]}",
                                 "fixed: {actor_infer: {devices: 0-7, layout: {tp: 2}}, placement: [b, a]}",
                                 "fixed: {actor_train: {offload: []}, placement: [b, a]}",
                                 "software: {training: megatron}",
                                 "software: {efficiency: megatron}",
                                 "software: {prefetch: true}",
                                 "software: {weight_type: bf16}",
                                 "software: {gradient_type: bf16}",
                                 "software: {moment_type: bf16}",
                                 "software: {master_type: remainder}",
                                 "software: {master_type: none}",
                                 "software: {logit_tokens: 512}",
                                 "software: {logit_entries: 512}",
                                 "software: {loss_entropy: none}",
                                 "software: {loss_entropy: computed}",
                                 "software: {engine: sglang}",
                                 "software: {engine_weight_bits: 8}",
                                 "software: {engine_weight_bits: 4}",
                                 "software: {key_value_bits: 8}",
                                 "software: {shard_group: 8}",
                                 "software: {engine_sleep: copies}",
                                 "software: {sync_bucket: 1048576}",
                                 "software: {optimizer_host_share: 0.5}",
                                 "limits: {margin: 5%}",
                                 "limits: {margin: 0}",
                                 "limits: {margin: 4GiB}"})
    expect_new(&Lines::rest, rest);
}

TEST(JobHash, DependsOnTheCriticsOwnTraining) {
  const auto hash = [](const std::string& own) {
    return hash_of_lines(
        {"algorithm: ppo\n", "models: {actor: llama-3.2-1b, reward: llama-3.2-1b}\n",
         "workload: {prompts: 64, mini_batch: 16, prompt_length: 100, response_length: 300" + own + "}\n",
         Lines{}.cluster, ""});
  };
  EXPECT_EQ(hash(", critic: {mini_batch: 16, epochs: 1}"), hash(""));
  EXPECT_NE(hash(", critic: {mini_batch: 32}"), hash(""));
  EXPECT_NE(hash(", critic: {mini_batch: 32}"), hash(", critic: {epochs: 2}"));
}

TEST(JobHash, DoesNotDependOnExplicitDefaults) {
  const auto hash = [](const std::string& software) {
    Lines lines;
    lines.rest = "software: {training: verl-fsdp" + software + "}\n";
    return hash_of_lines(lines);
  };
  EXPECT_EQ(hash(", weight_type: usual, gradient_type: usual, moment_type: usual, master_type: usual"), hash(""));
  EXPECT_EQ(hash(", framework: any"), hash(""));
}

TEST(IsForAnotherJob, ComparesHashes) {
  const Job job = parsed_job({});
  Plan plan;
  EXPECT_FALSE(is_for_another_job(plan, job)) << "the plan names no job";
  plan.job_hash = job_hash(job);
  EXPECT_FALSE(is_for_another_job(plan, job));
  plan.job_hash = base::sha256_hex("");
  EXPECT_TRUE(is_for_another_job(plan, job));
}

}  // namespace
}  // namespace dovetail::plan
