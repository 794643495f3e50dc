"""Writes a run for ROLL (8eb27cc2): a configuration of RLVR."""

from dialects.configuration import Configuration, below, needs


def roll_strategy(run, trains):
    layout = run.layout
    if run.backend == "fsdp":
        settings = {"fsdp_size": run.trainer_gpus}
        if run.host_optimizer and trains:
            settings["offload_policy"] = True
        name = "fsdp2_train" if trains else "fsdp2_infer"
    else:
        name = "megatron_train" if trains else "megatron_infer"
        settings = {
            "tensor_model_parallel_size": layout.tensor,
            "pipeline_model_parallel_size": layout.pipeline,
            "context_parallel_size": layout.context,
            "expert_model_parallel_size": layout.expert,
            "expert_tensor_parallel_size": layout.expert_tensor,
            "sequence_parallel": layout.tensor > 1,
        }
        if layout.chunks > 1:
            settings["virtual_pipeline_model_parallel_size"] = layout.chunks
        if layout.first_layers:
            settings["additional_configs.num_layers_in_first_pipeline_stage"] = layout.first_layers
        if trains:
            settings["use_distributed_optimizer"] = True
            settings["recompute_granularity"] = None if layout.recomputation == "none" else layout.granularity
            if layout.recomputation == "experts":
                settings["recompute_modules"] = "moe"
    return {"strategy_args.strategy_name": name} | below("strategy_args.strategy_config", settings)


def devices(first, count):
    return f"list(range({first}, {first + count}))"


def roll_role(run, trains):
    cut, context = run.cut, run.layout.context
    settings = roll_strategy(run, trains) | {"device_mapping": devices(0, run.trainer_gpus)}
    if run.backend == "fsdp":
        settings["model_args.ulysses_size"] = context
        settings["model_args.disable_gradient_checkpointing"] = run.layout.recomputation != "full"
    settings["use_sequence_packing"] = run.packing
    if cut.by_tokens:
        packs = {"max_packed_sequence_length_train": cut.train * context}
        packs |= {"max_packed_sequence_length_forward": cut.passes * context, "algorithm": "load_balance"}
        settings |= below("sequence_packing_args", packs)
    else:
        settings["infer_batch_size"] = cut.passes
    if not trains:
        return settings
    each = 1 if cut.by_tokens else cut.train
    settings["training_args.per_device_train_batch_size"] = each
    settings["training_args.gradient_accumulation_steps"] = run.mini_batch // (each * run.data)
    return settings


def roll_engine(run):
    engine = run.engine
    return {
        "strategy_args.strategy_name": "vllm",
        "device_mapping": devices(run.trainer_gpus if run.engine_gpus else 0, run.generating_gpus),
    } | below(
        "strategy_args.strategy_config",
        {
            "tensor_parallel_size": engine.tensor,
            "pipeline_parallel_size": engine.pipeline,
            "enable_expert_parallel": engine.spreads_experts,
            "gpu_memory_utilization": engine.share,
            "max_num_seqs": engine.sequences,
            "max_num_batched_tokens": engine.tokens,
            "enable_chunked_prefill": engine.chunked,
            "enforce_eager": not engine.graphs,
        },
    )


def roll(run):
    cut = run.cut
    needs(run.backend == "megatron" or not (run.packing or cut.by_tokens), "packing with FSDP")
    needs(run.backend == "megatron" or run.layout.tensor == 1, "tensor parallelism with FSDP")
    needs(run.backend == "fsdp" or not run.host_optimizer, "Megatron's optimizer on the host")
    needs(run.packing or not cut.by_tokens, "token budgets with padding")
    needs(run.prompts % run.data == 0, "prompts that are not divisible by the ranks")
    needs(run.mini_batch % run.data == 0, "a batch that is not divisible by the ranks")
    needs(
        cut.by_tokens or run.mini_batch % (cut.train * run.data) == 0, "micro-batches that do not divide a rank's batch"
    )
    needs(not (run.adapter_rank and run.reference), "a reference with adapters")
    needs(run.epochs == 1 or not run.critic, "several epochs with a critic")
    estimators = {"grpo": "grpo", "ppo": "gae", "reinforce++": "reinforce"}
    settings = {
        "rollout_batch_size": run.prompts,
        "num_return_sequences_in_group": run.samples,
        "prompt_length": run.prompt_cap,
        "response_length": run.response_cap,
        "ppo_epochs": run.epochs,
        "adv_estimator": estimators[run.algorithm],
        "init_kl_coef": 0.0,
        "enable_reference": run.reference,
        "enable_old_logprobs_recompute" if run.own_pass else "force_disable_old_logprobs_recompute": True,
        "async_generation_ratio": run.steps_off_policy,
        "num_gpus_per_node": run.gpus,
        "max_running_requests": run.engine.sequences,
        "pretrain": run.model.name,
    }
    settings |= below("actor_train", roll_role(run, True)) | below("actor_infer", roll_engine(run))
    if run.adapter_rank:
        settings |= below("actor_train.model_args", {"lora_target": "all-linear", "lora_rank": run.adapter_rank})
    if run.reference:
        settings |= below("reference", roll_role(run, False))
    if run.critic:
        settings["reward_pretrain"] = run.critic.name
        settings |= below("critic", roll_role(run, True))
        if run.adapter_rank:
            settings |= below("critic.model_args", {"lora_target": "all-linear", "lora_rank": run.adapter_rank})
    if run.reward:
        keys = "rewards.judge"
        settings |= {f"{keys}.model_args.model_name_or_path": run.reward.name, f"{keys}.infer_batch_size": 8}
        settings |= below(f"{keys}.strategy_args", {"strategy_name": "vllm", "strategy_config.tensor_parallel_size": 1})
        settings[f"{keys}.device_mapping"] = devices(0, run.trainer_gpus)
    return Configuration("roll", "yaml", "", settings)
