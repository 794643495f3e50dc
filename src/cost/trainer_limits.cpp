#include "cost/trainer_limits.h"

#include <algorithm>
#include <iterator>

namespace dovetail::cost {
namespace {

struct Row {
  std::string_view conventions;
  TrainerLimits limits;
};

}  // namespace

const TrainerLimits& trainer_limits(std::string_view conventions) {
  using enum Ability;
  static const TrainerLimits all;
  static const Row table[] = {
      {"megatron", {}},
      {"megatron-bf16-gradients", {}},
      {"megatron-bridge", {}},
      {"megatron-policy", {}},
      {"nemo-rl-megatron", {}},
      {"roll-megatron", {}},
      {"nanotron", {}},
      // Hugging Face models wrapped in FullyShardedDataParallel.
      {"fsdp1", {absent, absent, {3}, 3, true}},
      {"verl-fsdp", {absent, absent, {3}, 3, true}},
      // Hugging Face models under deepspeed.initialize; tensor parallelism is its AutoTP.
      {"deepspeed-zero", {pinned, absent, {0, 1, 2, 3}, 3, true}},
      // The pipeline engine refuses ZeRO 2 and 3, which cut gradients that micro-batches add to.
      {"deepspeed-3d", {searched, searched, {0, 1}, 1, false}},
      {"fsdp2", {searched, pinned, {2, 3}, 3, false}},
      // What it runs of that is in plan/framework.h.
      {"dovetail", {absent, searched, {0, 1}, 1, false}},
  };
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const Row& row) { return row.conventions == conventions; });
  return found == std::end(table) ? all : found->limits;
}

}  // namespace dovetail::cost
