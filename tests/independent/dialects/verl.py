"""Writes a run for verl (1dda039b9): overrides of main_ppo."""

from dialects.configuration import Configuration, below, needs


def verl_roles(run):
    roles = ["actor_rollout_ref.actor"]
    roles += ["actor_rollout_ref.ref"] * run.reference
    roles += ["critic"] * (run.critic is not None)
    return roles


def verl_layout(run):
    layout, settings = run.layout, {}
    if run.backend == "fsdp":
        needs(layout.tensor == 1, "tensor parallelism with FSDP")
        needs(not run.host_optimizer, "an FSDP optimizer that steps on the host")
        settings["actor_rollout_ref.model.enable_gradient_checkpointing"] = layout.recomputation == "full"
        if run.critic:
            settings["critic.model.enable_gradient_checkpointing"] = layout.recomputation == "full"
        for role in verl_roles(run):
            keys = "critic.fsdp" if role == "critic" else f"{role}.fsdp_config"
            settings[f"{keys}.ulysses_sequence_parallel_size"] = layout.context
        return settings
    for role in verl_roles(run):
        keys = f"{role}.megatron"
        settings[f"{keys}.tensor_model_parallel_size"] = layout.tensor
        settings[f"{keys}.pipeline_model_parallel_size"] = layout.pipeline
        settings[f"{keys}.context_parallel_size"] = layout.context
        settings[f"{keys}.expert_model_parallel_size"] = layout.expert
        settings[f"{keys}.expert_tensor_parallel_size"] = layout.expert_tensor
        if layout.chunks > 1:
            settings[f"{keys}.virtual_pipeline_model_parallel_size"] = layout.chunks
        if run.host_optimizer and role != "actor_rollout_ref.ref":
            of_host = {"optimizer_cpu_offload": True, "optimizer_offload_fraction": 1.0}
            settings |= below(f"+{role}.optim.override_optimizer_config", of_host)
        if layout.recomputation != "none" and role != "actor_rollout_ref.ref":
            more = {"granularity": layout.granularity}
            if layout.recomputation == "experts":
                more |= {"modules": ["moe"]}
            if layout.recomputation == "full":
                more |= {"method": "uniform", "num_layers": 1}
            settings |= {f"+{keys}.override_transformer_config.recompute_{name}": each for name, each in more.items()}
        if layout.first_layers:
            settings[f"+{keys}.override_transformer_config.num_layers_in_first_pipeline_stage"] = layout.first_layers
    return settings


def verl_cut(run):
    actor, rollout, reference = ("actor_rollout_ref." + role for role in ("actor", "rollout", "ref"))
    train, passes = run.cut.train, run.cut.passes
    needs(
        not run.critic or run.backend == "fsdp" or run.cut.by_tokens or train == passes,
        "different micro-batches for the critic's passes",
    )
    if run.cut.by_tokens:
        settings = {
            f"{actor}.use_dynamic_bsz": True,
            f"{actor}.ppo_max_token_len_per_gpu": train,
            f"{rollout}.log_prob_use_dynamic_bsz": True,
            f"{rollout}.log_prob_max_token_len_per_gpu": passes,
            f"{reference}.log_prob_use_dynamic_bsz": True,
            f"{reference}.log_prob_max_token_len_per_gpu": passes,
        }
        critic = {"use_dynamic_bsz": True, "ppo_max_token_len_per_gpu": train, "forward_max_token_len_per_gpu": passes}
    else:
        settings = {
            f"{actor}.use_dynamic_bsz": False,
            f"{actor}.ppo_micro_batch_size_per_gpu": train,
            f"{rollout}.log_prob_micro_batch_size_per_gpu": passes,
            f"{reference}.log_prob_micro_batch_size_per_gpu": passes,
        }
        critic = {"ppo_micro_batch_size_per_gpu": train}
        if run.backend == "fsdp":
            critic["forward_micro_batch_size_per_gpu"] = passes
    return settings | (below("critic", critic) if run.critic else {})


def verl_devices(run):
    if not run.engine_gpus:
        return {"trainer.nnodes": run.nodes, "trainer.n_gpus_per_node": run.gpus}
    needs(run.engine_gpus % run.gpus == 0, "engines on part of a node")
    needs(run.steps_off_policy == 1, "separate engine GPUs on policy")
    engines = run.engine_gpus // run.gpus
    return {
        "trainer.use_v1": True,
        "trainer.v1.trainer_mode": "separate_async",
        "trainer.nnodes": run.nodes - engines,
        "trainer.n_gpus_per_node": run.gpus,
        "actor_rollout_ref.rollout.nnodes": engines,
        "actor_rollout_ref.rollout.n_gpus_per_node": run.gpus,
    }


def verl_engine(run):
    engine = run.engine
    return below(
        "actor_rollout_ref.rollout",
        {
            "name": "vllm" if engine.graphs else "sglang",
            "tensor_model_parallel_size": engine.tensor,
            "pipeline_model_parallel_size": engine.pipeline,
            "expert_parallel_size": engine.tensor if engine.spreads_experts else 1,
            "gpu_memory_utilization": engine.share,
            "max_num_seqs": engine.sequences,
            "max_num_batched_tokens": engine.tokens,
            "enable_chunked_prefill": engine.chunked,
            "enforce_eager": not engine.graphs,
        },
    )


def verl(run):
    needs(run.packing or not run.cut.by_tokens, "token budgets with padding")
    needs(run.packing or run.layout.context == 1, "padded rows with Ulysses")
    needs(run.mini_batch % run.data == 0, "a batch that is not divisible by the ranks")
    megatron = run.backend == "megatron"
    estimators = {"grpo": "grpo", "ppo": "gae", "reinforce++": "reinforce_plus_plus"}
    settings = {
        "algorithm.adv_estimator": estimators[run.algorithm],
        "algorithm.rollout_correction.bypass_mode": not run.own_pass,
        "actor_rollout_ref.actor.use_kl_loss": run.reference,
        "data.train_batch_size": run.prompts,
        "data.max_prompt_length": run.prompt_cap,
        "data.max_response_length": run.response_cap,
        "actor_rollout_ref.rollout.n": run.samples,
        "actor_rollout_ref.actor.ppo_mini_batch_size": run.mini_prompts,
        "actor_rollout_ref.actor.ppo_epochs": run.epochs,
        "actor_rollout_ref.model.path": run.model.name,
        "actor_rollout_ref.model.use_remove_padding": run.packing,
    }
    if not megatron and run.engine.share > 0.6:
        settings["actor_rollout_ref.actor.strategy"] = "fsdp2"
    if megatron:
        settings["model_engine"] = "megatron"
        settings["actor_rollout_ref.actor.megatron.use_remove_padding"] = run.packing
    if run.critic:
        settings["critic.model.path"] = run.critic.name
        settings["critic.model.use_remove_padding"] = run.packing
        settings["critic.ppo_mini_batch_size"] = run.mini_prompts
    rank = "lora.rank" if megatron else "lora_rank"
    if run.adapter_rank:
        settings[f"actor_rollout_ref.model.{rank}"] = run.adapter_rank
        if run.critic:
            settings[f"critic.model.{rank}"] = run.adapter_rank
    if run.reward:
        keys = "reward.reward_model"
        settings |= {f"{keys}.enable": True, f"{keys}.model_path": run.reward.name, f"{keys}.rollout.name": "vllm"}
        settings[f"{keys}.rollout.tensor_model_parallel_size"] = 1
    settings |= verl_devices(run) | verl_engine(run) | verl_layout(run) | verl_cut(run)
    return Configuration("verl", "overrides", "python3 -m verl.trainer.main_ppo", settings, run.data)
