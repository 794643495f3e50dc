#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/utf8.h"
#include "pipeline/problem/problem_file.h"

namespace dovetail::pipeline {

namespace {

/// Keys and values in file order. The values are JSON, which is also valid YAML.
using Fields = std::vector<std::pair<std::string_view, std::string>>;

std::string bracketed(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ", ")); }

/// Writes one value if all are equal, otherwise the list.
template <class Value, class Format>
std::string spread_text(const std::vector<Value>& values, const Format& format) {
  const bool alike = std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  if (alike && !values.empty()) return format(values.front());
  std::vector<std::string> items;
  items.reserve(values.size());
  for (const Value& value : values) items.push_back(format(value));
  return bracketed(items);
}

std::string times_text(const std::vector<Ticks>& times, TimeUnit unit) {
  return spread_text(times, [unit](Ticks time) { return base::format_time(time, unit); });
}

std::string amounts_text(const std::vector<Memory>& amounts) {
  return spread_text(amounts, [](Memory amount) { return base::format_memory(amount); });
}

std::string devices_text(const std::vector<DeviceId>& devices) {
  std::vector<std::string> items;
  items.reserve(devices.size());
  for (const DeviceId device : devices) items.push_back(std::to_string(device.value));
  return bracketed(items);
}

bool all_zero(const std::vector<Ticks>& times) {
  return std::all_of(times.begin(), times.end(), [](Ticks time) { return time == Ticks(0); });
}

Fields memory_fields(const Problem& problem) {
  Fields fields;
  if (problem.capacity) fields.emplace_back("capacity", amounts_text(*problem.capacity));
  const bool is_resident =
      std::any_of(problem.resident.begin(), problem.resident.end(), [](Memory amount) { return amount != Memory(0); });
  if (is_resident) fields.emplace_back("resident", amounts_text(problem.resident));
  return fields;
}

void add_places(const Model& model, Fields& fields) {
  if (model.replicas.size() == 1) {
    fields.emplace_back("devices", devices_text(model.replicas.front()));
    return;
  }
  std::vector<std::string> replicas;
  for (const auto& replica : model.replicas) replicas.push_back(devices_text(replica));
  fields.emplace_back("replicas", bracketed(replicas));
}

/// Adds only values that differ from the defaults, so that files without these keys round-trip unchanged.
void add_step_waits(const Model& model, Fields& fields) {
  const Model by_default;
  if (model.step_after != by_default.step_after)
    fields.emplace_back("step_after", base::json_string(base::enum_name(model.step_after)));
  if (model.step_before != by_default.step_before)
    fields.emplace_back("step_before", base::json_string(base::enum_name(model.step_before)));
}

/// Formats a transfer. `as_map` writes {forward: ..., backward: ...} in the target language.
template <class AsMap>
Fields model_fields(const Model& model, TimeUnit unit, const AsMap& as_map) {
  Fields fields;
  fields.emplace_back("name", base::json_string(model.name));
  fields.emplace_back("microbatches", std::to_string(model.microbatches));
  add_places(model, fields);
  fields.emplace_back("forward", times_text(model.forward, unit));
  fields.emplace_back("backward", times_text(model.backward, unit));
  if (model.split()) fields.emplace_back("weight_gradient", times_text(model.weight_gradient, unit));
  fields.emplace_back("activation", amounts_text(model.activation));
  if (model.weight_activation != model.activation && model.split()) {
    fields.emplace_back("weight_activation", amounts_text(model.weight_activation));
  }
  const std::string transfer_forward = times_text(model.transfer_forward, unit);
  const std::string transfer_backward = times_text(model.transfer_backward, unit);
  if (transfer_forward != transfer_backward) {
    fields.emplace_back("transfer", as_map(Fields{{"forward", transfer_forward}, {"backward", transfer_backward}}));
  } else if (!all_zero(model.transfer_forward)) {
    fields.emplace_back("transfer", transfer_forward);
  }
  if (model.minibatches != 1) fields.emplace_back("minibatches", std::to_string(model.minibatches));
  if (!all_zero(model.step)) fields.emplace_back("step", times_text(model.step, unit));
  add_step_waits(model, fields);
  return fields;
}

std::string yaml_map(const Fields& fields) {
  std::vector<std::string> items;
  for (const auto& [key, value] : fields) items.push_back(fmt::format("{}: {}", key, value));
  return fmt::format("{{{}}}", fmt::join(items, ", "));
}

std::string json_map(const Fields& fields) {
  std::vector<std::string> items;
  for (const auto& [key, value] : fields) items.push_back(fmt::format("\"{}\": {}", key, value));
  return fmt::format("{{{}}}", fmt::join(items, ", "));
}

/// Whether YAML reads the bare word as this string, and not as null, true, yes, no or a number.
bool is_plain_word(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_inner = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  if (text.empty() || !is_letter(text.front()) || !std::all_of(text.begin(), text.end(), is_inner)) return false;
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  constexpr std::string_view reserved[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f"};
  return std::find(std::begin(reserved), std::end(reserved), lower) == std::end(reserved);
}

}  // namespace

std::string problem_to_yaml(const Problem& problem) {
  std::string text = fmt::format("format: {}\ntime_unit: {}\ndevices: {}\n", problem_format,
                                 base::name_of(problem.time_unit), problem.devices);
  if (const Fields memory = memory_fields(problem); !memory.empty())
    text += fmt::format("memory: {}\n", yaml_map(memory));
  text += "models:\n";
  for (const Model& model : problem.models) {
    Fields fields = model_fields(model, problem.time_unit, yaml_map);
    if (is_plain_word(model.name)) fields.front().second = model.name;
    std::string_view before = "  - ";
    for (const auto& [key, value] : fields)
      text += fmt::format("{}{}: {}\n", std::exchange(before, "    "), key, value);
  }
  return text;
}

std::string problem_to_json(const Problem& problem, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string text =
      fmt::format("{{\n{0}  \"format\": \"{1}\",\n{0}  \"time_unit\": \"{2}\",\n{0}  \"devices\": {3},\n", margin,
                  problem_format, base::name_of(problem.time_unit), problem.devices);
  if (const Fields memory = memory_fields(problem); !memory.empty())
    text += fmt::format("{}  \"memory\": {},\n", margin, json_map(memory));
  text += fmt::format("{}  \"models\": [", margin);
  std::string_view separator = "";
  for (const Model& model : problem.models) {
    text += fmt::format("{}\n{}    {}", std::exchange(separator, ","), margin,
                        json_map(model_fields(model, problem.time_unit, json_map)));
  }
  return text + fmt::format("\n{0}  ]\n{0}}}", margin);
}

}  // namespace dovetail::pipeline
