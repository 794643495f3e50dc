"""Writes a run for slime (624b824a8): its own flags, Megatron-LM's and SGLang's."""

from dialects.configuration import Configuration, needs


def slime_shape(model):
    settings = {
        "--num-layers": model.layers,
        "--hidden-size": model.hidden,
        "--ffn-hidden-size": model.width,
        "--num-attention-heads": model.heads,
        "--group-query-attention": True,
        "--num-query-groups": model.key_value_heads,
        "--kv-channels": 128,
        "--vocab-size": model.vocabulary,
        "--swiglu": True,
        "--disable-bias-linear": True,
        "--normalization": "RMSNorm",
        "--use-rotary-position-embeddings": True,
        "--qk-layernorm": model.query_key_norm,
        "--add-qkv-bias": model.query_bias,
        "--untie-embeddings-and-output-weights": not model.tied,
    }
    if model.experts:
        settings |= {
            "--num-experts": model.experts,
            "--moe-router-topk": model.active,
            "--moe-ffn-hidden-size": model.expert_width,
            "--moe-layer-freq": f"[1]*{model.layers}",
        }
    return settings


def slime_layout(run):
    layout = run.layout
    settings = {
        "--tensor-model-parallel-size": layout.tensor,
        "--pipeline-model-parallel-size": layout.pipeline,
        "--context-parallel-size": layout.context,
        "--expert-model-parallel-size": layout.expert,
        "--expert-tensor-parallel-size": layout.expert_tensor,
        "--sequence-parallel": layout.tensor > 1,
    }
    if run.host_optimizer:
        settings |= {"--optimizer-cpu-offload": True, "--use-precision-aware-optimizer": True}
    if layout.chunks > 1:
        settings["--num-virtual-stages-per-pipeline-rank"] = layout.chunks
    if layout.first_layers:
        settings["--decoder-first-pipeline-num-layers"] = layout.first_layers
    if layout.recomputation != "none":
        settings["--recompute-granularity"] = layout.granularity
    if layout.recomputation == "experts":
        settings["--recompute-modules"] = "moe"
    if layout.recomputation == "full":
        settings |= {"--recompute-method": "uniform", "--recompute-num-layers": 1}
    return settings


def slime_engine(run):
    engine = run.engine
    needs(engine.chunked or engine.tokens == 8192, "whole prompts with a token limit")
    settings = {
        "--rollout-num-gpus-per-engine": engine.size,
        "--sglang-pp-size": engine.pipeline,
        "--sglang-mem-fraction-static": engine.share,
        "--sglang-server-concurrency": engine.sequences,
        "--sglang-max-running-requests": engine.sequences,
        "--sglang-chunked-prefill-size": engine.tokens if engine.chunked else -1,
        "--sglang-disable-cuda-graph": not engine.graphs,
    }
    if engine.spreads_experts:
        settings["--sglang-ep-size"] = engine.tensor
    return settings


def slime(run):
    cut = run.cut
    needs(run.backend == "megatron", "FSDP")
    needs(run.packing, "padded rows")
    needs(run.epochs == 1, "epochs")
    needs(not run.adapter_rank, "adapters")
    needs(not run.reward, "a reward model")
    needs(cut.train == cut.passes, "different micro-batches for passes")
    needs(not run.critic or run.critic == run.model, "a critic of another shape")
    needs(run.steps_off_policy <= 1, "more than one step off policy")
    needs(not run.steps_off_policy or run.engine_gpus, "off-policy generation on the trainer's GPUs")
    groups = run.data * (run.layout.pipeline if run.layout.chunks > 1 else 1)
    needs(
        cut.by_tokens or run.mini_batch // cut.train % groups == 0, "micro-batches that are not divisible by the ranks"
    )
    estimators = {"grpo": "grpo", "ppo": "ppo", "reinforce++": "reinforce_plus_plus"}
    settings = {
        "--actor-num-nodes": max(run.trainer_gpus // run.gpus, 1),
        "--actor-num-gpus-per-node": min(run.trainer_gpus, run.gpus),
        "--num-gpus-per-node": run.gpus,
        "--hf-checkpoint": run.model.name,
        "--advantage-estimator": estimators[run.algorithm],
        "--num-rollout": 100,
        "--rollout-batch-size": run.prompts,
        "--n-samples-per-prompt": run.samples,
        "--global-batch-size": run.mini_batch,
        "--rollout-max-prompt-len": run.prompt_cap,
        "--rollout-max-response-len": run.response_cap,
    }
    if run.engine_gpus:
        settings["--rollout-num-gpus"] = run.engine_gpus
    else:
        settings["--colocate"] = True
    if run.algorithm == "reinforce++":
        settings["--normalize-advantages"] = True
    if run.reference:
        settings |= {"--use-kl-loss": True, "--ref-load": "/models/reference"}
    if run.own_pass:
        # Without it, the forward pass of the first step would suffice.
        settings |= {"--get-mismatch-metrics": True, "--custom-tis-function-path": "rules.weights"}
    else:
        settings["--use-rollout-logprobs"] = True
    if cut.by_tokens:
        settings |= {"--use-dynamic-batch-size": True, "--max-tokens-per-gpu": cut.train}
    else:
        settings["--micro-batch-size"] = cut.train
    settings |= slime_shape(run.model) | slime_layout(run) | slime_engine(run)
    program = "train_async.py" if run.steps_off_policy else "train.py"
    return Configuration("slime", "flags", f"python3 {program}", settings)
