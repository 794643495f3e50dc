#!/usr/bin/env bash
# Launch script of verl: GRPO of an 8B model on two nodes of eight GPUs.
set -euo pipefail

MODEL=${MODEL:-Qwen/Qwen3-8B}
NODES=${NODES:-2}
TOKENS_PER_GPU=$((2 * (1024 + 8192)))

python3 -m verl.trainer.main_ppo \
  algorithm.adv_estimator=grpo \
  data.train_files="$HOME/data/train.parquet" \
  data.val_files="$HOME/data/test.parquet" \
  data.train_batch_size=256 \
  data.max_prompt_length=1024 \
  data.max_response_length=8192 \
  actor_rollout_ref.model.path="$MODEL" \
  actor_rollout_ref.model.use_remove_padding=True \
  actor_rollout_ref.actor.ppo_mini_batch_size=64 \
  actor_rollout_ref.actor.use_dynamic_bsz=True \
  actor_rollout_ref.actor.ppo_max_token_len_per_gpu=$TOKENS_PER_GPU \
  actor_rollout_ref.actor.use_kl_loss=True \
  actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 \
  actor_rollout_ref.actor.fsdp_config.param_offload=True \
  actor_rollout_ref.actor.fsdp_config.optimizer_offload=True \
  actor_rollout_ref.rollout.name=vllm \
  actor_rollout_ref.rollout.n=8 \
  actor_rollout_ref.rollout.tensor_model_parallel_size=4 \
  actor_rollout_ref.rollout.gpu_memory_utilization=0.5 \
  trainer.nnodes="$NODES" \
  trainer.n_gpus_per_node=8 \
  "$@"
