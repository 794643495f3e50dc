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
  static const TrainerLimits megatron = [] {
    TrainerLimits limits;
    limits.experts_again = true;
    return limits;
  }();
  static const Row table[] = {
      {"megatron", megatron},
      {"megatron-bf16-gradients", megatron},
      {"megatron-bridge", megatron},
      {"megatron-policy", megatron},
      {"nemo-rl-megatron", megatron},
      {"roll-megatron", megatron},
      {"nanotron", {}},
      // Hugging Face models wrapped in FullyShardedDataParallel.
      {"fsdp1", {absent, absent, {3}, 3, true, false}},
      {"verl-fsdp", {absent, absent, {3}, 3, true, false}},
      // Hugging Face models under deepspeed.initialize; tensor parallelism is its AutoTP.
      {"deepspeed-zero", {pinned, absent, {0, 1, 2, 3}, 3, true, false}},
      // The pipeline engine refuses ZeRO 2 and 3, which cut gradients that micro-batches add to.
      {"deepspeed-3d", {searched, searched, {0, 1}, 1, false, false}},
      {"fsdp2", {searched, pinned, {2, 3}, 3, false, false}},
      // What it runs of that is in plan/framework.h.
      {"dovetail", {absent, searched, {0, 1}, 1, false, false}},
  };
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const Row& row) { return row.conventions == conventions; });
  return found == std::end(table) ? all : found->limits;
}

}  // namespace dovetail::cost
