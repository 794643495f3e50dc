"""Writes a run for NeMo-RL (7ea279abf): a configuration of GRPO or PPO."""

from dialects.configuration import Configuration, below, needs


def nemo_rl_role(run, role):
    """Of `policy` or `value`."""
    layout, megatron = run.layout, run.backend == "megatron"
    ours, other = ("megatron_cfg", "dtensor_cfg") if megatron else ("dtensor_cfg", "megatron_cfg")
    settings = {f"{ours}.enabled": True, f"{other}.enabled": False}
    if megatron:
        degrees = {
            "tensor_model_parallel_size": layout.tensor,
            "pipeline_model_parallel_size": layout.pipeline,
            "context_parallel_size": layout.context,
            "expert_model_parallel_size": layout.expert,
            "expert_tensor_parallel_size": layout.expert_tensor,
            "num_layers_in_first_pipeline_stage": layout.first_layers,
            "sequence_parallel": layout.tensor > 1,
            "activation_checkpointing": layout.recomputation != "none",
        }
        if layout.recomputation != "none":
            degrees["recompute_granularity"] = layout.granularity
        if layout.recomputation == "experts":
            degrees["recompute_modules"] = ["moe"]
        if run.host_optimizer:
            degrees |= below("optimizer", {"optimizer_cpu_offload": True, "optimizer_offload_fraction": 1.0})
        adapters = "peft"
    else:
        degrees = {
            "tensor_parallel_size": layout.tensor,
            "context_parallel_size": layout.context,
            "sequence_parallel": layout.tensor > 1,
            "activation_checkpointing": layout.recomputation == "full",
            "cpu_offload": run.host_optimizer,
        }
        adapters = "lora_cfg"
    settings |= below(ours, degrees)
    if run.adapter_rank:
        settings |= below(f"{ours}.{adapters}", {"enabled": True, "dim": run.adapter_rank})
        if not megatron:
            settings[f"{ours}.{adapters}.use_triton"] = False
    cut, across = run.cut, run.layout.context
    settings["sequence_packing.enabled"] = cut.by_tokens
    if cut.by_tokens:
        budgets = {"train_mb_tokens": cut.train * across, "logprob_mb_tokens": cut.passes * across}
        settings |= below("sequence_packing", budgets) | {"train_micro_batch_size": 1}
    else:
        settings["train_micro_batch_size"] = cut.train
        # By default, a value model's passes use the settings of training.
        settings["logprob_batch_size"] = cut.passes
    return below(role, settings)


def nemo_rl_engine(run):
    engine = run.engine
    settings = below(
        "policy.generation.vllm_cfg",
        {
            "tensor_parallel_size": engine.tensor,
            "pipeline_parallel_size": engine.pipeline,
            "expert_parallel_size": engine.tensor if engine.spreads_experts else 1,
            "gpu_memory_utilization": engine.share,
            "enforce_eager": not engine.graphs,
            "async_engine": engine.pipeline > 1 or run.steps_off_policy > 0,
        },
    )
    more = {"max_num_seqs": engine.sequences, "max_num_batched_tokens": engine.tokens}
    return settings | below("policy.generation.vllm_kwargs", more | {"enable_chunked_prefill": engine.chunked})


def nemo_rl_devices(run, loop):
    settings = {"cluster.num_nodes": run.nodes, "cluster.gpus_per_node": run.gpus}
    if not run.engine_gpus:
        return settings
    keys = "policy.generation.colocated"
    settings[f"{keys}.enabled"] = False
    settings[f"{keys}.resources.gpus_per_node"] = min(run.engine_gpus, run.gpus)
    settings[f"{keys}.resources.num_nodes"] = run.engine_gpus // run.gpus if run.nodes > 1 else None
    if run.steps_off_policy:
        settings[f"{loop}.async_{loop}.enabled"] = True
        settings[f"{loop}.async_{loop}.max_trajectory_age_steps"] = run.steps_off_policy
        settings["loss_fn.use_importance_sampling_correction"] = True
    return settings


def nemo_rl(run):
    loop = "ppo" if run.algorithm == "ppo" else "grpo"
    needs(run.packing == run.cut.by_tokens, "packed rows by number, or padded ones by tokens")
    needs(
        not run.cut.by_tokens or run.layout.context == 1 or run.backend == "megatron",
        "packing with context parallelism",
    )
    needs(run.cut.by_tokens or run.layout.context == 1 or run.backend == "fsdp", "context parallelism without packing")
    needs(
        run.layout.context == 1 or run.layout.tensor == 1 or run.backend == "megatron",
        "context parallelism with tensor parallelism",
    )
    needs(
        run.cut.by_tokens or run.layout.tensor < 4 or run.cut.train == run.cut.passes,
        "different micro-batches for passes with tensor 4",
    )
    needs(run.layout.chunks == 1, "virtual stages")
    needs(run.mini_batch % run.data == 0, "a batch that is not divisible by the ranks")
    needs(run.epochs == 1 or loop == "ppo", "epochs")
    needs(not run.critic or run.backend == "megatron" or not run.packing, "a DTensor critic with packing")
    needs(
        not run.critic or run.backend == "megatron" or run.layout.context == 1,
        "a DTensor critic with context parallelism",
    )
    needs(
        run.own_pass or (loop == "grpo" and run.mini_batch == run.batch),
        "skipping the trainer's pass with several steps or PPO",
    )
    needs(not run.reward, "a reward model on the trainer's GPUs")
    settings = {
        "defaults": f"{loop}_math_1B.yaml",
        f"{loop}.num_prompts_per_step": run.prompts,
        f"{loop}.num_generations_per_prompt": run.samples,
        "loss_fn.reference_policy_kl_penalty": 0.01 if run.reference else 0,
        "loss_fn.force_on_policy_ratio": not run.own_pass,
        "policy.model_name": run.model.name,
        "policy.train_global_batch_size": run.mini_batch,
        "policy.max_total_sequence_length": run.length,
        "policy.generation.max_new_tokens": run.response_cap,
        "data.max_input_seq_length": run.prompt_cap,
    }
    if loop == "ppo":
        settings["ppo.ppo_epochs"] = run.epochs
        settings["ppo.skip_reference_policy_logprobs_calculation"] = not run.reference
        settings["value.model_name"] = run.critic.name
    elif run.algorithm == "reinforce++":
        settings["grpo.adv_estimator.name"] = "reinforce_plus_plus"
    settings |= nemo_rl_devices(run, loop) | nemo_rl_engine(run) | nemo_rl_role(run, "policy")
    if loop == "ppo":
        settings |= nemo_rl_role(run, "value")
    return Configuration("nemo-rl", "yaml", "", settings)
