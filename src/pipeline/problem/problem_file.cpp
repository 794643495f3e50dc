#include "pipeline/problem/problem_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>

#include "base/fields.h"

namespace dovetail::pipeline {

namespace {

using base::Node;
using base::quote;
using base::Result;
using base::Status;

Result<int> read_count(const Node& node, const std::string& what, std::int64_t most) {
  DOVETAIL_TRY(const std::int64_t count, base::read_integer(node, what, 1, most));
  return static_cast<int>(count);
}

/// A setting that a file gives once for all, or once for each of `count` items.
struct Spread {
  std::string what;            ///< "`forward` of model `actor`"
  std::size_t count = 0;       ///< number of values
  std::string_view item_name;  ///< item that a value belongs to: "stage"
};

/// Reads one number for all, or one for each item. `read(node)` returns one as a Result.
template <class Value, class Read>
Result<std::vector<Value>> read_spread(const Node& node, const Spread& spread, const Read& read) {
  if (node.is_number()) {
    DOVETAIL_TRY(const Value value, read(node));
    return std::vector<Value>(spread.count, value);
  }
  const std::string accepted =
      fmt::format("accepted: one number, or a list of {} numbers, one per {}", spread.count, spread.item_name);
  if (!node.is_list()) return node.error(fmt::format("{} is {}; {}", spread.what, node.describe(), accepted));
  if (node.size() != spread.count)
    return node.error(fmt::format("{} has {} values; {}", spread.what, node.size(), accepted));
  std::vector<Value> values;
  values.reserve(spread.count);
  for (std::size_t i = 0; i < node.size(); ++i) {
    if (!node.item(i).is_number()) {
      return node.item(i).error(fmt::format("{} for {} {} is {}; accepted: a number", spread.what, spread.item_name, i,
                                            node.item(i).describe()));
    }
    DOVETAIL_TRY(const Value value, read(node.item(i)));
    values.push_back(value);
  }
  return values;
}

/// Reads times of at least `least` ticks.
Result<std::vector<Ticks>> read_times(const Node& node, const Spread& spread, TimeUnit unit, std::int64_t least) {
  return read_spread<Ticks>(node, spread, [&](const Node& number) -> Result<Ticks> {
    const Result<Ticks> time = base::parse_time(number.text(), unit, base::ExcessDigits::round_half_up);
    if (!time.ok()) return number.error(fmt::format("{}: {} {}", spread.what, number.describe(), time.error().message));
    if (time->count() < least) {
      return number.error(fmt::format("{}: {} is too short; accepted: at least one {}", spread.what, number.describe(),
                                      unit == TimeUnit::tick ? "tick" : "ns"));
    }
    return *time;
  });
}

Result<std::vector<Memory>> read_amounts(const Node& node, const Spread& spread) {
  return read_spread<Memory>(node, spread, [&](const Node& number) -> Result<Memory> {
    const Result<Memory> amount = base::parse_memory(number.text());
    if (!amount.ok())
      return number.error(fmt::format("{}: {} {}", spread.what, number.describe(), amount.error().message));
    return *amount;
  });
}

/// Reads the models one by one and checks their totals against the limits.
class ModelReader {
 public:
  ModelReader(TimeUnit unit, int devices) : unit_(unit), devices_(devices) {}

  Result<Model> read(const Node& node);

 private:
  Status read_name(const Node& node, Model& model);
  Status read_counts(const Node& node, Model& model);
  Status read_places(const Node& node, Model& model);
  Status read_durations(const Node& node, Model& model);
  Status read_activations(const Node& node, Model& model);
  Status read_transfers(const Node& node, Model& model);
  Status read_step_waits(const Node& node, Model& model);
  Result<std::vector<DeviceId>> read_devices(const Node& node) const;
  Status check_totals(const Node& node, const Model& model);

  Spread per_stage(std::string_view key, std::size_t stages) const {
    return {.what = fmt::format("{} of {}", quote(key), what_), .count = stages, .item_name = "stage"};
  }
  Result<Node> require(const Node& node, std::string_view key) const { return base::require(node, what_, key); }

  TimeUnit unit_;
  int devices_;
  std::string what_;  ///< "model `actor`"
  std::unordered_set<std::string> names_;
  ProblemTotals totals_;
};

Result<Model> ModelReader::read(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(
      node, "a model",
      {"name", "microbatches", "devices", "replicas", "forward", "backward", "weight_gradient", "activation",
       "weight_activation", "transfer", "minibatches", "step", "step_after", "step_before"}));
  Model model;
  DOVETAIL_CHECK(read_name(node, model));
  what_ = "model " + quote(model.name);
  DOVETAIL_CHECK(read_counts(node, model));
  DOVETAIL_CHECK(read_places(node, model));
  DOVETAIL_CHECK(read_durations(node, model));
  DOVETAIL_CHECK(read_activations(node, model));
  DOVETAIL_CHECK(read_transfers(node, model));
  DOVETAIL_CHECK(read_step_waits(node, model));
  DOVETAIL_CHECK(check_totals(node, model));
  return model;
}

Status ModelReader::read_name(const Node& node, Model& model) {
  DOVETAIL_TRY(const Node name, base::require(node, "a model", "name"));
  if (!name.is_string() || name.text().empty()) {
    return name.error(fmt::format("`name` of a model is {}; accepted: a non-empty string", name.describe()));
  }
  if (!base::is_name(name.text())) {
    return name.error(fmt::format(
        "the name {} of a model has a control character; accepted: any characters except control characters",
        quote(name.text())));
  }
  model.name = name.text();
  if (!names_.insert(model.name).second) {
    return name.error(fmt::format("two models have the name {}; each model needs a different name", quote(model.name)));
  }
  return {};
}

Status ModelReader::read_counts(const Node& node, Model& model) {
  DOVETAIL_TRY(const Node microbatches, require(node, "microbatches"));
  DOVETAIL_TRY(model.microbatches, read_count(microbatches, "`microbatches` of " + what_, max_op_count));
  if (const std::optional<Node> minibatches = node.find("minibatches")) {
    DOVETAIL_TRY(model.minibatches, read_count(*minibatches, "`minibatches` of " + what_, max_op_count));
  }
  return {};
}

Result<std::vector<DeviceId>> ModelReader::read_devices(const Node& node) const {
  if (!node.is_list() || node.size() == 0) {
    return node.error(
        fmt::format("the devices of {} are {}; accepted: a list with the device of each stage, in forward order", what_,
                    node.is_list() ? "an empty list" : node.describe()));
  }
  if (static_cast<std::int64_t>(node.size()) > max_op_count) {
    return node.error(fmt::format("{} has {} stages; accepted: at most {}", what_, node.size(), max_op_count));
  }
  std::vector<DeviceId> devices;
  devices.reserve(node.size());
  for (std::size_t stage = 0; stage < node.size(); ++stage) {
    DOVETAIL_TRY(const std::int64_t device,
                 base::read_integer(node.item(stage), "a device of " + what_, 0, devices_ - 1));
    devices.emplace_back(static_cast<std::int32_t>(device));
  }
  return devices;
}

Status ModelReader::read_places(const Node& node, Model& model) {
  const std::optional<Node> devices = node.find("devices");
  const std::optional<Node> replicas = node.find("replicas");
  if (devices && replicas) {
    return replicas->error(fmt::format(
        "{} has both `devices` and `replicas`; accepted: `devices` for one replica, or `replicas` for all", what_));
  }
  if (devices) {
    DOVETAIL_TRY(std::vector<DeviceId> only, read_devices(*devices));
    model.replicas.push_back(std::move(only));
    return {};
  }
  if (!replicas)
    return node.error(fmt::format("{} needs the key `devices`, or `replicas` if it has several replicas", what_));
  if (!replicas->is_list() || replicas->size() == 0) {
    return replicas->error(fmt::format("`replicas` of {} is {}; accepted: a list of lists of devices, one per replica",
                                       what_, replicas->is_list() ? "an empty list" : replicas->describe()));
  }
  for (std::size_t replica = 0; replica < replicas->size(); ++replica) {
    const Node item = replicas->item(replica);
    // Checked before reading: an alias can repeat a long list many times.
    if (item.is_list() && static_cast<std::int64_t>(item.size() * replicas->size()) > max_op_count) {
      return item.error(fmt::format("{} has {} stages in each of {} replicas; accepted: at most {} in all", what_,
                                    item.size(), replicas->size(), max_op_count));
    }
    DOVETAIL_TRY(std::vector<DeviceId> stages, read_devices(item));
    if (replica > 0 && stages.size() != model.replicas.front().size()) {
      return item.error(fmt::format("replica {} of {} has {} stages; accepted: {} (the same as replica 0)", replica,
                                    what_, stages.size(), model.replicas.front().size()));
    }
    model.replicas.push_back(std::move(stages));
  }
  return {};
}

Status ModelReader::read_durations(const Node& node, Model& model) {
  const std::size_t stages = model.replicas.front().size();
  DOVETAIL_TRY(const Node forward, require(node, "forward"));
  DOVETAIL_TRY(model.forward, read_times(forward, per_stage("forward", stages), unit_, 1));
  DOVETAIL_TRY(const Node backward, require(node, "backward"));
  DOVETAIL_TRY(model.backward, read_times(backward, per_stage("backward", stages), unit_, 1));
  if (const std::optional<Node> weight_gradient = node.find("weight_gradient")) {
    DOVETAIL_TRY(model.weight_gradient, read_times(*weight_gradient, per_stage("weight_gradient", stages), unit_, 1));
  }
  model.step.assign(stages, Ticks(0));
  if (const std::optional<Node> step = node.find("step")) {
    DOVETAIL_TRY(model.step, read_times(*step, per_stage("step", stages), unit_, 0));
  }
  return {};
}

Status ModelReader::read_activations(const Node& node, Model& model) {
  const std::size_t stages = model.replicas.front().size();
  DOVETAIL_TRY(const Node activation, require(node, "activation"));
  DOVETAIL_TRY(model.activation, read_amounts(activation, per_stage("activation", stages)));
  const std::optional<Node> weight_activation = node.find("weight_activation");
  if (!weight_activation) {
    if (model.split()) model.weight_activation = model.activation;
    return {};
  }
  if (!model.split()) {
    return weight_activation->error(
        fmt::format("{} has `weight_activation` but no `weight_gradient`; accepted: `weight_activation` only with "
                    "`weight_gradient`",
                    what_));
  }
  DOVETAIL_TRY(model.weight_activation, read_amounts(*weight_activation, per_stage("weight_activation", stages)));
  for (std::size_t stage = 0; stage < stages; ++stage) {
    if (model.weight_activation[stage] <= model.activation[stage]) continue;
    const Node place = weight_activation->is_list() ? weight_activation->item(stage) : *weight_activation;
    return place.error(
        fmt::format("`weight_activation` of {}: {} is more than the activation of stage {}; accepted: at most {}",
                    what_, place.describe(), stage, base::format_memory(model.activation[stage])));
  }
  return {};
}

Status ModelReader::read_transfers(const Node& node, Model& model) {
  const std::size_t boundaries = model.forward.size() - 1;
  model.transfer_forward.assign(boundaries, Ticks(0));
  model.transfer_backward = model.transfer_forward;
  const std::optional<Node> transfer = node.find("transfer");
  if (!transfer) return {};
  const auto spread = [&](std::string_view key) -> Spread {
    return {.what = fmt::format("{} of {}", quote(key), what_),
            .count = boundaries,
            .item_name = "boundary between stages"};
  };
  if (!transfer->is_map()) {
    DOVETAIL_TRY(model.transfer_forward, read_times(*transfer, spread("transfer"), unit_, 0));
    model.transfer_backward = model.transfer_forward;
    return {};
  }
  const std::string what = "`transfer` of " + what_;
  DOVETAIL_CHECK(base::check_keys(*transfer, what, {"forward", "backward"}));
  DOVETAIL_TRY(const Node forward, base::require(*transfer, what, "forward"));
  DOVETAIL_TRY(model.transfer_forward, read_times(forward, spread("transfer.forward"), unit_, 0));
  DOVETAIL_TRY(const Node backward, base::require(*transfer, what, "backward"));
  DOVETAIL_TRY(model.transfer_backward, read_times(backward, spread("transfer.backward"), unit_, 0));
  return {};
}

Status ModelReader::read_step_waits(const Node& node, Model& model) {
  if (const std::optional<Node> after = node.find("step_after")) {
    DOVETAIL_TRY(model.step_after, base::read_enum<StepAfter>(*after, "`step_after` of " + what_));
  }
  if (const std::optional<Node> before = node.find("step_before")) {
    DOVETAIL_TRY(model.step_before, base::read_enum<StepBefore>(*before, "`step_before` of " + what_));
  }
  return {};
}

Status ModelReader::check_totals(const Node& node, const Model& model) {
  const std::optional<Limit> limit = add_to_totals(totals_, model);
  if (!limit) return {};
  switch (*limit) {
    case Limit::ops:
      return node.error(fmt::format("with {} the problem has more than the maximum of {} ops", what_, max_op_count));
    case Limit::step_dependencies:
      return node.error(fmt::format(
          "with {} the optimizer steps have more than the maximum of {} dependencies: a step waits for every "
          "micro-batch in every replica (on every stage with `step_after: model` and a split backward), and with "
          "`step_before: replicas` every forward of a later mini-batch waits for every replica",
          what_, max_step_dependency_count));
    case Limit::time:
      return node.error(
          fmt::format("with {} the durations and transfers of all ops add up to more than the maximum of {} {}", what_,
                      base::format_time(Ticks(max_sum), unit_), base::name_of(unit_)));
    case Limit::activation:
      break;
  }
  return node.error(
      fmt::format("with {} the activations of all micro-batches on one device add up to more than the maximum of {}; "
                  "use a larger unit (GB instead of bytes)",
                  what_, base::format_memory(Memory(max_sum))));
}

Status read_memory(const Node& node, Problem& problem) {
  DOVETAIL_CHECK(base::check_keys(node, "`memory`", {"capacity", "resident"}));
  const auto devices = static_cast<std::size_t>(problem.devices);
  if (const std::optional<Node> resident = node.find("resident")) {
    DOVETAIL_TRY(problem.resident,
                 read_amounts(*resident, {.what = "`resident`", .count = devices, .item_name = "device"}));
  }
  const std::optional<Node> capacity = node.find("capacity");
  if (!capacity) return {};
  DOVETAIL_TRY(problem.capacity,
               read_amounts(*capacity, {.what = "`capacity`", .count = devices, .item_name = "device"}));
  for (std::size_t device = 0; device < devices; ++device) {
    if ((*problem.capacity)[device] >= problem.resident[device]) continue;
    const Node place = capacity->is_list() ? capacity->item(device) : *capacity;
    return place.error(
        fmt::format("`capacity`: {} is less than the resident memory of device {}; accepted: at least {}",
                    place.describe(), device, base::format_memory(problem.resident[device])));
  }
  return {};
}

Status read_models(const Node& node, Problem& problem) {
  if (!node.is_list() || node.size() == 0) {
    return node.error(fmt::format("`models` is {}; accepted: a list of at least one model",
                                  node.is_list() ? "an empty list" : node.describe()));
  }
  ModelReader reader(problem.time_unit, problem.devices);
  for (std::size_t i = 0; i < node.size(); ++i) {
    DOVETAIL_TRY(Model model, reader.read(node.item(i)));
    problem.models.push_back(std::move(model));
  }
  return {};
}

}  // namespace

Result<Problem> parse_problem(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, path));
  return read_problem(document.root());
}

Result<Problem> read_problem(const Node& node) {
  DOVETAIL_CHECK(base::require_format(node, "the problem", problem_format));
  DOVETAIL_CHECK(base::check_keys(node, "the problem", {"format", "time_unit", "devices", "memory", "models"}));
  Problem problem;
  if (const std::optional<Node> unit = node.find("time_unit")) {
    const std::optional<TimeUnit> named = unit->is_string() ? base::time_unit_named(unit->text()) : std::nullopt;
    if (!named) return unit->error(fmt::format("`time_unit` is {}; accepted: tick, s, ms, us, ns", unit->describe()));
    problem.time_unit = *named;
  }
  DOVETAIL_TRY(const Node devices, base::require(node, "the problem", "devices"));
  DOVETAIL_TRY(problem.devices, read_count(devices, "`devices`", max_device_count));
  problem.resident.assign(static_cast<std::size_t>(problem.devices), Memory(0));
  if (const std::optional<Node> memory = node.find("memory")) DOVETAIL_CHECK(read_memory(*memory, problem));
  DOVETAIL_TRY(const Node models, base::require(node, "the problem", "models"));
  DOVETAIL_CHECK(read_models(models, problem));
  DOVETAIL_ASSERT(!find_fault(problem));
  return problem;
}

}  // namespace dovetail::pipeline
