"""Writes a run for AReaL (4aef98d8d): a configuration of PPO or one of its variants."""

from dialects.configuration import Configuration, below, needs


def areal_degrees(run):
    layout = run.layout
    degrees = f"d{run.data}" + (f"p{layout.pipeline}" if layout.pipeline > 1 else "") + f"t{layout.tensor}"
    degrees += f"c{layout.context}" if layout.context > 1 else ""
    if not run.model.experts:
        return f"{'megatron' if run.backend == 'megatron' else 'fsdp'}:{degrees}"
    ranks = run.trainer_gpus // layout.pipeline
    data = ranks // (layout.expert * layout.expert_tensor)
    experts = f"d{data}p{layout.pipeline}t{layout.expert_tensor}e{layout.expert}"
    return f"megatron:(attn:{degrees}|ffn:{experts})"


def areal_role(run, passes=False):
    layout = run.layout
    settings = {
        "gradient_checkpointing": layout.recomputation != "none",
        "mb_spec.max_tokens_per_mb": (run.cut.passes if passes else run.cut.train) * layout.context,
        "optimizer": None if passes else {"type": "adam"},
    }
    if run.backend == "megatron":
        settings["megatron.ddp.use_distributed_optimizer"] = True
        if layout.recomputation != "none":
            settings["megatron.recompute_granularity"] = layout.granularity
        if layout.recomputation == "experts":
            settings["megatron.recompute_modules"] = ["moe"]
        if layout.chunks > 1:
            settings["megatron.virtual_pipeline_parallel_size"] = layout.chunks
    elif run.host_optimizer and not passes:
        settings["fsdp.per_layer_optim_step"] = True
    if run.adapter_rank and not passes:
        settings |= {"use_lora": True, "lora_rank": run.adapter_rank}
    return settings


def areal_engine(run, backend):
    engine = run.engine
    needs(backend == "sglang" or engine.tokens == 8192, "vLLM's tokens per step")
    needs(engine.chunked or engine.tokens >= engine.sequences, "whole prompts")
    if backend == "vllm":
        return below(
            "vllm",
            {
                "gpu_memory_utilization": engine.share,
                "max_num_seqs": engine.sequences,
                "enforce_eager": not engine.graphs,
                "no_enable_chunked_prefill": not engine.chunked,
            },
        )
    settings = {
        "mem_fraction_static": engine.share,
        "max_running_requests": engine.sequences,
        "disable_cuda_graph": not engine.graphs,
        "chunked_prefill_size": engine.tokens if engine.chunked else -1,
        "ep_size": engine.tensor if engine.spreads_experts else 1,
    }
    if not engine.chunked:
        settings["max_prefill_tokens"] = engine.tokens
    return below("sglang", settings)


def areal(run):
    engine = run.engine
    megatron = run.backend == "megatron"
    needs(run.algorithm != "reinforce++", "reinforce++")
    needs(run.epochs == 1, "epochs")
    needs(run.packing and run.cut.by_tokens, "micro-batches by number of sequences")
    needs(run.cut.train == run.cut.passes, "different micro-batches for the actor's passes")
    needs(not run.reward, "a reward model")
    needs(not megatron or not run.host_optimizer, "Megatron's optimizer on the host")
    needs(run.layout.first_layers is None, "numbers of layers per stage")
    needs(not run.critic or run.critic.experts == run.model.experts, "experts in the actor only")
    # Megatron adapters need vLLM, which does not distribute experts.
    adapted = megatron and run.adapter_rank > 0
    backend = "vllm" if adapted or (engine.tokens == 8192 and not engine.spreads_experts) else "sglang"
    needs(not (backend == "vllm" and engine.spreads_experts), "distributed experts in vLLM")
    rollout = f"{backend}:d{run.generating_gpus // engine.size}p{engine.pipeline}t{engine.tensor}"
    settings = {
        "experiment_name": "run",
        "cluster.n_nodes": run.nodes,
        "cluster.n_gpus_per_node": run.gpus,
        "train_dataset.batch_size": run.prompts,
        "train_dataset.max_length": run.prompt_cap,
        "gconfig.n_samples": run.samples,
        "gconfig.max_new_tokens": run.response_cap,
        "gconfig.max_tokens": run.length,
        "rollout.consumer_batch_size": run.prompts,
        "rollout.max_concurrent_rollouts": engine.sequences * run.generating_gpus,
        "rollout.max_head_offpolicyness": run.steps_off_policy,
        "actor.path": run.model.name,
        "actor.kl_ctl": 0.01 if run.reference else 0.0,
        "actor.use_decoupled_loss": False,
        "actor.recompute_logprob": run.own_pass,
        "actor.ppo_n_minibatches": run.batch // run.mini_batch,
    }
    settings |= below("actor", areal_role(run))
    if run.reference:
        settings["ref.path"] = run.model.name
        settings |= below("ref", areal_role(run, passes=True))
    if run.critic:
        settings["critic.path"] = run.critic.name
        settings["critic.ppo_n_minibatches"] = run.batch // run.mini_batch
        settings |= below("critic", areal_role(run))
    trained = areal_degrees(run)
    # Current versions place one instance per GPU when sharing GPUs. The older string shares all GPUs.
    by_engine = run.engine_gpus or engine.size == 1
    if by_engine:
        settings["rollout.backend"], settings["actor.backend"] = rollout, trained
        for role in ["ref"] * run.reference + ["critic"] * (run.critic is not None):
            settings[f"{role}.backend"] = trained
            settings |= below(f"{role}.scheduling_strategy", {"type": "colocation", "target": "actor"})
    else:
        settings["allocation_mode"] = f"{rollout}|{trained}"
    if not run.engine_gpus:
        if by_engine:
            settings |= below("rollout.scheduling_strategy", {"type": "colocation", "target": "actor"})
        settings |= {"enable_offload": True, "actor.weight_update_mode": "disk"}
    settings |= areal_engine(run, backend)
    return Configuration("areal", "yaml", "", settings)
