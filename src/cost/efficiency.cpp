#include "cost/efficiency.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/document.h"
#include "base/enum_names.h"
#include "base/fields.h"
#include "base/utf8.h"

namespace dovetail::cost {

namespace {

/// Returns the constants of ReaL's runtime: eager, fp16, on nodes of 8 A100-80 with InfiniBand.
Efficiency a100_realhf() {
  Efficiency efficiency;
  efficiency.name = "a100/realhf";
  efficiency.error = 0.077;
  efficiency.task = 0;  // included in `iteration`
  efficiency.matrix_products = 0.526;
  efficiency.decode_launch = 0.00069;
  efficiency.decode_reduce = 0.000101;
  efficiency.decode_step = 0.00195;
  efficiency.slot = 0.00549;
  efficiency.iteration = 2.22;
  return efficiency;
}

/// Returns the constants of NeMo-RL v0.3 and v0.4 on DGX H100: Megatron-core trains, vLLM generates.
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

/// Returns the constants of dovetail-train on one core (examples/measurements/dovetail-cpu.yaml).
Efficiency cpu_dovetail() {
  Efficiency efficiency;
  efficiency.name = "cpu/dovetail";
  efficiency.error = 0.179;
  efficiency.matrix_products = 0.85;
  efficiency.slot = 0.000245;
  efficiency.exposed_gradients = 1;  // one reduction per stage, after all of its work
  efficiency.memory_bandwidth = 0.95;
  efficiency.decode_products = 0.85;
  efficiency.decode_layer = 1.04e-05;
  efficiency.decode_step = 0.000133;
  efficiency.decode_sequence = 2.04e-06;
  efficiency.refit = 0;  // one process: no wake-up, and no data to send or collect
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
  return base::bad_input(fmt::format("unknown set of efficiencies {}{}; accepted: {}", base::quote(name),
                                     base::did_you_mean(name, names, 2), fmt::join(names, ", ")));
}

namespace {

using base::Node;
using base::Status;

constexpr double max_error = 100;

}  // namespace

const std::vector<EfficiencyConstant>& efficiency_constants() {
  static const std::vector<EfficiencyConstant> all = {
      {"matrix_products", 0.1, 0.85, false, [](Efficiency& e) -> double& { return e.matrix_products; }},
      {"expert_products", 0.03, 0.7, false, [](Efficiency& e) -> double& { return e.expert_products; }},
      {"layer_launch", 1e-6, 1e-2, true, [](Efficiency& e) -> double& { return e.layer_launch; }},
      {"expert_launch", 1e-5, 1e-2, true, [](Efficiency& e) -> double& { return e.expert_launch; }},
      {"slot", 1e-5, 0.1, true, [](Efficiency& e) -> double& { return e.slot; }},
      {"exposed_gradients", 0.05, 1, true, [](Efficiency& e) -> double& { return e.exposed_gradients; }},
      {"memory_bandwidth", 0.3, 0.95, false, [](Efficiency& e) -> double& { return e.memory_bandwidth; }},
      {"decode_products", 0.1, 0.85, false, [](Efficiency& e) -> double& { return e.decode_products; }},
      {"decode_layer", 1e-6, 5e-4, true, [](Efficiency& e) -> double& { return e.decode_layer; }},
      {"decode_launch", 1e-6, 5e-3, true, [](Efficiency& e) -> double& { return e.decode_launch; }},
      {"decode_reduce", 1e-6, 2e-3, true, [](Efficiency& e) -> double& { return e.decode_reduce; }},
      {"decode_step", 1e-5, 2e-2, true, [](Efficiency& e) -> double& { return e.decode_step; }},
      {"decode_sequence", 1e-7, 2e-4, true, [](Efficiency& e) -> double& { return e.decode_sequence; }},
      {"links.inside.bandwidth", 0.05, 1, false, [](Efficiency& e) -> double& { return e.links.inside.bandwidth; }},
      {"links.inside.latency", 1e-8, 1e-4, true, [](Efficiency& e) -> double& { return e.links.inside.latency; }},
      {"links.inside.half_size", 1e3, 1e9, true, [](Efficiency& e) -> double& { return e.links.inside.half_size; }},
      {"links.between.bandwidth", 0.05, 1, false, [](Efficiency& e) -> double& { return e.links.between.bandwidth; }},
      {"links.between.latency", 1e-6, 2e-4, true, [](Efficiency& e) -> double& { return e.links.between.latency; }},
      {"links.between.half_size", 1e3, 1e9, true, [](Efficiency& e) -> double& { return e.links.between.half_size; }},
      {"host_bandwidth", 0.05, 0.9, false, [](Efficiency& e) -> double& { return e.host_bandwidth; }},
      {"refit_links", 0.05, 1, false, [](Efficiency& e) -> double& { return e.refit_links; }},
      {"refit_tensor", 1e-6, 1e-2, true, [](Efficiency& e) -> double& { return e.refit_tensor; }},
      {"refit", 0.1, 60, true, [](Efficiency& e) -> double& { return e.refit; }},
      {"task", 0.01, 30, true, [](Efficiency& e) -> double& { return e.task; }},
      {"iteration", 0.05, 120, true, [](Efficiency& e) -> double& { return e.iteration; }},
  };
  return all;
}

const EfficiencyConstant* find_constant(std::string_view name) {
  const std::vector<EfficiencyConstant>& all = efficiency_constants();
  const auto found =
      std::find_if(all.begin(), all.end(), [name](const EfficiencyConstant& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Status read_constants(const Node& map, std::string_view what, const std::vector<std::string_view>& others,
                      Efficiency& efficiency) {
  std::vector<std::string_view> accepted = others;
  for (const EfficiencyConstant& constant : efficiency_constants()) accepted.push_back(constant.name);
  DOVETAIL_CHECK(base::check_keys(map, what, accepted));
  for (const EfficiencyConstant& constant : efficiency_constants()) {
    const auto node = map.find(constant.name);
    if (!node) continue;
    DOVETAIL_TRY(const double value, base::read_number(*node, base::quote(constant.name),
                                                       constant.may_be_zero ? 0 : constant.low, constant.high));
    if (value > 0 && value < constant.low)
      return node->error(fmt::format("{} is {}; accepted: 0, or from {} to {}", base::quote(constant.name),
                                     node->describe(), constant.low, constant.high));
    constant.of(efficiency) = value;
  }
  return {};
}

base::Result<Efficiency> parse_efficiency(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, path));
  const Node root = document.root();
  DOVETAIL_CHECK(base::require_format(root, "a set of efficiencies", efficiency_format));
  DOVETAIL_CHECK(base::check_keys(root, "a set of efficiencies", {"format", "name", "error", "constants"}));
  Efficiency efficiency;
  DOVETAIL_TRY(const Node name, base::require(root, "a set of efficiencies", "name", "name: h100/megatron-vllm"));
  DOVETAIL_TRY(efficiency.name, base::read_name(name, "name"));
  if (const auto error = root.find("error")) {
    DOVETAIL_TRY(efficiency.error, base::read_number(*error, "`error`", 0, max_error));
  }
  DOVETAIL_TRY(const Node constants,
               base::require(root, "a set of efficiencies", "constants", "constants: {matrix_products: 0.45}"));
  DOVETAIL_CHECK(read_constants(constants, "`constants`", {}, efficiency));
  return efficiency;
}

std::string efficiency_to_json(const Efficiency& efficiency) {
  Efficiency values = efficiency;
  std::vector<std::string> lines;
  for (const EfficiencyConstant& constant : efficiency_constants())
    lines.push_back(fmt::format("  {}: {}", base::json_string(constant.name), constant.of(values)));
  return fmt::format("{{\"format\": {}, \"name\": {}, \"error\": {}, \"constants\": {{\n{}\n}}}}\n",
                     base::json_string(efficiency_format), base::json_string(efficiency.name), efficiency.error,
                     fmt::join(lines, ",\n"));
}

}  // namespace dovetail::cost
