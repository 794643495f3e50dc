#include "runtime/profile/profile_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/enum_names.h"
#include "cost/profile_file.h"
#include "llm/computation.h"

namespace dovetail::runtime {
namespace {

using json = nlohmann::ordered_json;

double rounded(double value) { return std::stod(fmt::format("{:.3e}", value)); }

json amounts_of(const std::vector<cost::ProfilePoint>& points) {
  json all = json::array();
  for (const cost::ProfilePoint& point : points) all.push_back(static_cast<std::int64_t>(point.amount));
  return all;
}

json seconds_of(const std::vector<cost::ProfilePoint>& points) {
  json all = json::array();
  for (const cost::ProfilePoint& point : points) all.push_back(rounded(point.seconds));
  return all;
}

json table_of(const cost::ProfileTable& table, const char* length, const char* amounts) {
  json all = json::array();
  for (const cost::ProfileCurve& curve : table)
    all.push_back({{length, static_cast<std::int64_t>(curve.length)},
                   {amounts, amounts_of(curve.points)},
                   {"seconds", seconds_of(curve.points)}});
  return all;
}

json end_of(const cost::EndProfile& end) {
  return {{"tokens", amounts_of(end.forward)},
          {"forward", seconds_of(end.forward)},
          {"backward", seconds_of(end.backward)}};
}

json layer_of(const cost::LayerProfile& layer, const llm::Computation& computation, const std::string& gpu) {
  json said = {{"model", json::parse(llm::config_text(layer.model, computation))},
               {"gpu", gpu},
               {"precision", "fp32"},
               {"forward", table_of(layer.forward, "length", "tokens")},
               {"backward", table_of(layer.backward, "length", "tokens")}};
  if (!layer.decode.empty()) said["decode"] = table_of(layer.decode, "context", "sequences");
  said["embedding"] = end_of(layer.embedding);
  said["head"] = end_of(layer.head);
  said["optimizer"] = rounded(*layer.optimizer_bandwidth);
  return said;
}

json cluster_of(const MeasuredMachine& measured) {
  json gpu = {{"name", measured.gpu},
              {"memory", measured.memory},
              {"bandwidth", rounded(measured.speed.bytes_per_second)},
              {"bf16", rounded(measured.speed.flops_per_second)}};
  if (const auto link = cost::measured_link(measured.profile)) gpu["link"] = rounded(link->bandwidth);
  return {{"nodes", 1}, {"gpus_per_node", measured.ranks}, {"gpu", gpu}};
}

/// As JSON, what fits a line on one line.
std::string on_lines(const json& value, const std::string& indent = "") {
  constexpr std::size_t max_columns = 120;
  std::string line = value.dump();
  if (!value.is_structured() || indent.size() + line.size() <= max_columns) return line;
  const std::string inner = indent + "  ";
  std::string text(1, value.is_object() ? '{' : '[');
  const char* between = "\n";
  for (const auto& [key, part] : value.items()) {
    text += between + inner;
    if (value.is_object()) text += json(key).dump() + ": ";
    text += on_lines(part, inner);
    between = ",\n";
  }
  return text + "\n" + indent + (value.is_object() ? '}' : ']');
}

}  // namespace

std::string profile_text(const MeasuredMachine& measured) {
  json said = {{"format", cost::profile_format}, {"name", measured.profile.name}, {"layers", json::array()}};
  for (std::size_t i = 0; i < measured.profile.layers.size(); ++i)
    said["layers"].push_back(layer_of(measured.profile.layers[i], measured.computations[i], measured.gpu));
  for (const cost::LinkProfile& link : measured.profile.links)
    said["links"].push_back({{"work", base::enum_name(link.work)},
                             {"ranks", link.ranks},
                             {"bytes", amounts_of(link.points)},
                             {"seconds", seconds_of(link.points)}});
  said["cluster"] = cluster_of(measured);
  return on_lines(said) + "\n";
}

}  // namespace dovetail::runtime
