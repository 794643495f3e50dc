#!/bin/bash
MODEL=Qwen/Qwen3-8B
ray job submit -- python3 -m openrlhf.cli.train_ppo_ray --pretrain $MODEL --reward.model_name_or_path Qwen/Qwen3-4B \
  --vllm.num_engines 4 --vllm.tensor_parallel_size=2 --train.colocate_all --vllm.enable_sleep --ds.enable_sleep \
  --ds.zero_stage 3 --packing_samples --rollout.batch_size 256 --algo.advantage.is_correction_threshold 0.5 5.0
