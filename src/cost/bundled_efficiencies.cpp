#include "cost/bundled_efficiencies.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/nearest.h"

namespace dovetail::cost {
namespace {

/// ReaL's own runtime, eager, fp16, on nodes of 8 A100-80 with InfiniBand.
Efficiency a100_realhf() {
  Efficiency efficiency;
  efficiency.name = "a100/realhf";
  efficiency.error = 0.077;
  efficiency.task = 0;  // in the iteration's
  efficiency.matrix_products = 0.526;
  efficiency.decode_launch = 0.00069;
  efficiency.decode_reduce = 0.000101;
  efficiency.decode_step = 0.00195;
  efficiency.slot = 0.00549;
  efficiency.iteration = 2.22;
  return efficiency;
}

/// NeMo-RL v0.3 and v0.4 on DGX H100: Megatron-core trains, vLLM generates.
Efficiency h100_megatron_vllm() {
  Efficiency efficiency;
  efficiency.name = "h100/megatron-vllm";
  efficiency.error = 0.085;
  efficiency.matrix_products = 0.436;
  efficiency.expert_products = 0.0539;
  efficiency.expert_launch = 0.00167;
  efficiency.slot = 0.00104;
  efficiency.memory_bandwidth = 0.501;
  efficiency.decode_layer = 2.12e-05;
  efficiency.decode_step = 0.000917;
  efficiency.decode_sequence = 1.17e-05;
  efficiency.links.between.latency = 2.49e-05;
  efficiency.refit = 4.5;
  efficiency.refit_links = 0.494;
  efficiency.refit_tensor = 0.000188;
  efficiency.task = 0.932;
  efficiency.iteration = 1.55;
  return efficiency;
}

/// dovetail-train on one core: examples/measurements/dovetail-cpu.yaml.
Efficiency cpu_dovetail() {
  Efficiency efficiency;
  efficiency.name = "cpu/dovetail";
  efficiency.error = 0.179;
  efficiency.matrix_products = 0.85;
  efficiency.slot = 0.000245;
  efficiency.exposed_gradients = 1;  // a stage's are one sum, behind all of its work
  efficiency.memory_bandwidth = 0.95;
  efficiency.decode_products = 0.85;
  efficiency.decode_layer = 1.04e-05;
  efficiency.decode_step = 0.000133;
  efficiency.decode_sequence = 2.04e-06;
  efficiency.refit = 0;  // one process: nothing is woken up, handed out or collected
  efficiency.task = 0;
  efficiency.iteration = 0;
  return efficiency;
}

std::vector<Efficiency> all() { return {Efficiency{}, a100_realhf(), h100_megatron_vllm(), cpu_dovetail()}; }

const std::vector<FittedTo>& all_fitted() {
  static const std::vector<FittedTo> all{
      {"cpu/dovetail", "CPU", {"dovetail"}, true},
      {"h100/megatron-vllm", "H100-80", {"megatron", "megatron-policy", "nemo-rl-megatron", "roll-megatron"}}};
  return all;
}

}  // namespace

const FittedTo* fitted_to(std::string_view gpu, std::string_view conventions) {
  for (const FittedTo& one : all_fitted()) {
    const bool is_training = std::find(one.training.begin(), one.training.end(), conventions) != one.training.end();
    if (one.is_for_any_gpu ? is_training : one.gpu == gpu) return &one;
  }
  return nullptr;
}

std::vector<std::string_view> efficiency_names() {
  return {"assumed", "a100/realhf", "h100/megatron-vllm", "cpu/dovetail"};
}

base::Result<Efficiency> find_efficiency(std::string_view name) {
  const std::vector<Efficiency> bundled = all();
  const auto found =
      std::find_if(bundled.begin(), bundled.end(), [name](const Efficiency& one) { return one.name == name; });
  if (found != bundled.end()) return *found;
  const std::vector<std::string_view> names = efficiency_names();
  return base::bad_input(fmt::format("there are no bundled efficiencies {}{}; accepted: {}", base::quote(name),
                                     base::did_you_mean(name, names, 2), fmt::join(names, ", ")));
}

}  // namespace dovetail::cost
