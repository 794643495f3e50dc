#!/bin/bash
MODEL=${MODEL:-Qwen/Qwen3-8B}
ARGS=(algorithm.adv_estimator=grpo actor_rollout_ref.actor.use_dynamic_bsz=True)
if [ "$FAST" = 1 ]; then ARGS+=(actor_rollout_ref.rollout.enforce_eager=False); fi
python3 -m verl.trainer.main_ppo "${ARGS[@]}" \
    data.train_batch_size=$((4 * 64)) actor_rollout_ref.rollout.n=8 \
    actor_rollout_ref.model.path=$HOME/models/$MODEL actor_rollout_ref.rollout.name=vllm \
    +actor_rollout_ref.rollout.engine_kwargs.vllm.block_size=32 reward_model.enable=False trainer.nnodes=2 "$@"
