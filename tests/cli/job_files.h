// A job and its plan, for the commands about plans.
#pragma once

namespace dovetail::cli {

inline constexpr const char* small_job = R"(format: dovetail/job@1
name: small
algorithm: {name: grpo, reward: rule}
models: {actor: qwen3-0.6b}
workload: {prompts: 32, samples_per_prompt: 8, mini_batches: 2, prompt_length: 128, response_length: 512}
cluster: {nodes: 1, gpus_per_node: 8, gpu: H100, price: 2}
)";

inline constexpr const char* small_plan = R"({"format": "dovetail/plan@1", "placement": "co-located", "tasks": [
  {"task": "actor_generate", "devices": "0-7", "layout": {"dp": 8}, "engine": {"memory_utilization": 0.5}},
  {"task": "actor_infer", "devices": "0-7", "layout": {"dp": 8}, "micro_batch": {"sequences": 4}},
  {"task": "reference_infer", "devices": "0-7", "layout": {"dp": 8}, "micro_batch": {"sequences": 4}, "offload": ["weights"]},
  {"task": "actor_train", "devices": "0-7", "layout": {"dp": 8, "zero": 1}, "micro_batch": {"sequences": 4}}
]}
)";

}  // namespace dovetail::cli
