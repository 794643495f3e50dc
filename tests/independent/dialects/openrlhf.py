"""Writes a run for OpenRLHF (3c3be623): flags of train_ppo_ray."""

from dialects.configuration import Configuration, needs


def openrlhf(run):
    layout, engine, cut = run.layout, run.engine, run.cut
    needs(run.backend == "fsdp", "Megatron")
    needs(run.own_pass, "skipping the trainer's pass")
    needs(run.packing or not (cut.by_tokens or layout.context > 1), "padded rows by tokens, or with ring attention")
    needs(run.steps_off_policy <= 1, "more than one step off policy")
    needs(not engine.pipeline > 1, "engines with pipeline stages")
    needs((engine.sequences, engine.tokens, engine.chunked) == (256, 8192, True), "limits of vLLM")
    needs(not run.engine_gpus or not (run.critic or run.reward), "separate engine GPUs with a critic or reward model")
    needs(
        not cut.by_tokens or cut.train % layout.tensor == 0 == cut.passes % layout.tensor,
        "token budgets that the tensor degree does not divide",
    )
    estimators = {"grpo": "group_norm", "ppo": "gae", "reinforce++": "reinforce"}
    gpus = run.trainer_gpus
    settings = {
        "--actor.model_name_or_path": run.model.name,
        "--algo.advantage.estimator": estimators[run.algorithm],
        "--algo.kl.init_coef": 0.01 if run.reference else 0,
        "--rollout.batch_size": run.prompts,
        "--rollout.n_samples_per_prompt": run.samples,
        "--train.batch_size": run.mini_batch,
        "--train.max_epochs": run.epochs,
        "--data.max_len": run.length,
        "--rollout.max_new_tokens": run.response_cap,
        "--ds.packing_samples": run.packing,
        "--ds.zero_stage": 3,
        "--ds.adam_offload": run.host_optimizer,
        "--ds.tensor_parallel_size": layout.tensor,
        "--ds.ring_attn_size": layout.context,
        "--ds.lora.rank": run.adapter_rank,
        "--actor.gradient_checkpointing_enable": layout.recomputation == "full",
        "--vllm.num_engines": run.generating_gpus // engine.tensor,
        "--vllm.tensor_parallel_size": engine.tensor,
        "--vllm.gpu_memory_utilization": engine.share,
        "--vllm.enforce_eager": not engine.graphs,
        "--train.async_enable": run.steps_off_policy > 0,
        "--train.colocate_actor_ref" if run.engine_gpus else "--train.colocate_all": True,
        "--vllm.enable_sleep": not run.engine_gpus,
    }
    for role in ("actor", "ref", "critic", "reward"):
        settings[f"--{role}.num_nodes"] = max(gpus // run.gpus, 1)
        settings[f"--{role}.num_gpus_per_node"] = min(gpus, run.gpus)
    if run.critic:
        settings["--critic.model_name_or_path"] = run.critic.name
    if run.reward:
        settings["--reward.model_name_or_path"] = run.reward.name
    else:
        settings["--reward.remote_url"] = "rule.py"
    if cut.by_tokens:
        settings["--train.dynamic_batch_enable"] = True
        settings["--train.max_tokens_per_gpu"] = cut.train // layout.tensor
        settings["--rollout.max_tokens_per_gpu"] = cut.passes // layout.tensor
    else:
        settings["--train.micro_batch_size"] = cut.train
        settings["--rollout.micro_batch_size"] = cut.passes
    return Configuration("openrlhf", "flags", "python3 -m openrlhf.cli.train_ppo_ray", settings)
