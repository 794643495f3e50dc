#!/bin/bash
N_DENSE=1
MODEL_ARGS=(
  --swiglu --disable-bias-linear --normalization RMSNorm --position-embedding-type rope --num-layers 12
  --hidden-size 2048 --ffn-hidden-size 8192 --num-attention-heads 16 --vocab-size 100000 --num-experts 64
  --moe-router-topk 6 --moe-ffn-hidden-size 1408 --moe-layer-freq [0]*$N_DENSE+[1]*11 --multi-latent-attention
  --kv-lora-rank 512 --moe-shared-expert-intermediate-size 2816 --moe-router-enable-expert-bias
)
ray job submit -- python3 train.py --actor-num-nodes 2 --colocate ${MODEL_ARGS[@]} --hf-checkpoint $BASE/Some-Model/ \
  --rollout-batch-size 32 --n-samples-per-prompt 8 --num-steps-per-rollout 2 --rollout-max-response-len 4096 \
  --num-rollout 10 --expert-model-parallel-size 8 --use-dynamic-batch-size --max-tokens-per-gpu 8192 \
  --rollout-num-gpus-per-engine 8 --sglang-ep-size 8 --sglang-cuda-graph-bs 1 2 $(seq 16 8 64)
