#!/bin/bash
python3 -m verl.trainer.main_ppo model_engine=megatron algorithm.adv_estimator=gae actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 \
  actor_rollout_ref.rollout.name=sglang critic.model.path=Qwen/Qwen3-8B critic.ppo_micro_batch_size_per_gpu=4 \
  critic.megatron.tensor_model_parallel_size=2 critic.megatron.pipeline_model_parallel_size=4 \
  +critic.megatron.override_transformer_config.num_layers_in_first_pipeline_stage=6
