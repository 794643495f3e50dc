#include "cost/profile_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/amount.h"
#include "base/document.h"
#include "base/enum_names.h"
#include "base/fields.h"
#include "base/file.h"
#include "cluster/cluster_file.h"
#include "cluster/gpu.h"
#include "plan/model_file.h"
#include "workflow/lengths.h"

namespace dovetail::cost {
namespace {

using base::Node;
using base::quote;
using base::Result;
using base::Status;

constexpr double min_seconds = 1e-9;
constexpr double max_seconds = 1e4;
constexpr double max_amount = 1e9;
constexpr double max_link_bytes = 1e12;
constexpr std::int64_t max_degree = 1 << 14;

/// The words of a table: what its amounts and its lengths are.
struct TableWords {
  std::string_view amounts;
  std::string_view length;
  std::string_view example;
};
constexpr TableWords layer_words{"tokens", "length", "{length: 2048, tokens: [2048, 4096], seconds: [0.001, 0.002]}"};
constexpr TableWords decode_words{"sequences", "context",
                                  "{context: 1024, sequences: [1, 64], seconds: [0.012, 0.014]}"};

Result<std::vector<double>> read_numbers(const Node& map, const std::string& what, std::string_view key, double least,
                                         double most) {
  DOVETAIL_TRY(const Node list, base::require(map, what, key));
  if (!list.is_list() || list.size() == 0)
    return list.error(fmt::format("{} of {} is {}; accepted: a list of numbers", quote(key), what, list.describe()));
  std::vector<double> numbers;
  for (std::size_t item = 0; item < list.size(); ++item) {
    DOVETAIL_TRY(const double number, base::read_number(list.item(item), quote(key), least, most));
    numbers.push_back(number);
  }
  return numbers;
}

/// As many seconds as amounts.
Result<std::vector<ProfilePoint>> read_points(const Node& map, const std::string& what, std::string_view amounts_key,
                                              std::string_view seconds_key, double most = max_amount) {
  DOVETAIL_TRY(const std::vector<double> amounts, read_numbers(map, what, amounts_key, 1, most));
  DOVETAIL_TRY(const std::vector<double> seconds, read_numbers(map, what, seconds_key, min_seconds, max_seconds));
  if (amounts.size() != seconds.size())
    return map.error(fmt::format("there are {} {} and {} {}; accepted: as many", amounts.size(), amounts_key,
                                 seconds.size(), seconds_key));
  std::vector<ProfilePoint> points;
  for (std::size_t index = 0; index < amounts.size(); ++index) {
    if (index > 0 && amounts[index] <= amounts[index - 1])
      return map.find(amounts_key)
          ->item(index)
          .error(fmt::format("{} come in no rising order; accepted: each more than the one before it",
                             quote(amounts_key)));
    points.push_back({amounts[index], seconds[index]});
  }
  return points;
}

Result<ProfileCurve> read_curve(const Node& node, const std::string& what, const TableWords& words) {
  DOVETAIL_CHECK(base::check_keys(node, what, {words.length, words.amounts, "seconds"}));
  DOVETAIL_TRY(const Node length, base::require(node, what, words.length));
  ProfileCurve curve;
  DOVETAIL_TRY(curve.length,
               base::read_number(length, quote(words.length), 1, static_cast<double>(workflow::max_length)));
  DOVETAIL_TRY(curve.points, read_points(node, what, words.amounts, "seconds"));
  return curve;
}

/// A list of curves, sorted by their length; empty where the key is not there.
Result<ProfileTable> read_table(const Node& layer, std::string_view key, const TableWords& words) {
  ProfileTable table;
  const auto list = layer.find(key);
  if (!list) return table;
  if (!list->is_list() || list->size() == 0)
    return list->error(
        fmt::format("{} is {}; accepted: a list of maps such as {}", quote(key), list->describe(), words.example));
  for (std::size_t item = 0; item < list->size(); ++item) {
    DOVETAIL_TRY(ProfileCurve curve, read_curve(list->item(item), fmt::format("an item of {}", quote(key)), words));
    const auto twice = std::find_if(table.begin(), table.end(),
                                    [&](const ProfileCurve& other) { return other.length == curve.length; });
    if (twice != table.end())
      return list->item(item).error(
          fmt::format("{} {} stands twice in {}; accepted: each once", words.length, curve.length, quote(key)));
    table.push_back(std::move(curve));
  }
  std::sort(table.begin(), table.end(),
            [](const ProfileCurve& a, const ProfileCurve& b) { return a.length < b.length; });
  return table;
}

Result<int> read_degree(const Node& layer, std::string_view key) {
  const auto node = layer.find(key);
  if (!node) return 1;
  DOVETAIL_TRY(const std::int64_t degree, base::read_whole(*node, quote(key), 1, max_degree));
  return static_cast<int>(degree);
}

Status read_kind(const Node& node, LayerProfile& layer) {
  const auto experts = node.find("experts");
  layer.with_experts = layer.model.experts.has_value();
  if (experts) {
    DOVETAIL_TRY(layer.with_experts, base::read_flag(*experts, "experts"));
    if (layer.with_experts && !layer.model.experts) return experts->error("the model has no experts; accepted: false");
  }
  DOVETAIL_TRY(layer.tensor, read_degree(node, "tensor"));
  DOVETAIL_TRY(layer.expert, read_degree(node, "expert"));
  if (layer.expert > 1 && !layer.model.experts)
    return node.find("expert")->error("the model has no experts; accepted: 1");
  return {};
}

/// Empty where the key is not there.
Result<EndProfile> read_end(const Node& layer, std::string_view key) {
  const auto node = layer.find(key);
  if (!node) return EndProfile{};
  const std::string what = quote(key);
  DOVETAIL_CHECK(base::check_keys(*node, what, {"tokens", "forward", "backward"}));
  EndProfile end;
  for (const auto& [pass, points] : {std::pair("forward", &end.forward), std::pair("backward", &end.backward)})
    if (node->find(pass)) {
      DOVETAIL_TRY(*points, read_points(*node, what, "tokens", pass));
    }
  if (end.forward.empty() && end.backward.empty())
    return node->error(fmt::format("{} has no seconds; accepted: `forward`, `backward` or both", what));
  return end;
}

/// Bytes of a number; nothing where the key is not there.
Result<std::optional<int>> read_precision(const Node& layer) {
  const auto node = layer.find("precision");
  if (!node) return std::optional<int>();
  const std::string_view text = node->is_string() ? node->text() : std::string_view();
  if (text == "bf16" || text == "fp16") return std::optional(2);
  if (text == "fp32") return std::optional(4);
  return node->error(fmt::format("`precision` is {}; accepted: bf16, fp16, fp32", node->describe()));
}

/// What the second version of the format says of a layer beyond the first.
Status read_surroundings(const Node& node, LayerProfile& layer) {
  DOVETAIL_TRY(layer.element_bytes, read_precision(node));
  DOVETAIL_TRY(layer.embedding, read_end(node, "embedding"));
  DOVETAIL_TRY(layer.head, read_end(node, "head"));
  if (const auto optimizer = node.find("optimizer")) {
    DOVETAIL_TRY(layer.optimizer_bandwidth, base::read_amount(*optimizer, "`optimizer`", base::Measure::bandwidth));
  }
  return {};
}

Result<LinkProfile> read_link(const Node& node) {
  const std::string what = "an item of `links`";
  DOVETAIL_CHECK(base::check_keys(node, what, {"work", "ranks", "bytes", "seconds"}));
  LinkProfile link;
  if (const auto work = node.find("work")) {
    DOVETAIL_TRY(link.work, base::read_enum<LinkWork>(*work, "`work`"));
  }
  if (const auto ranks = node.find("ranks")) {
    DOVETAIL_TRY(const std::int64_t count, base::read_whole(*ranks, "`ranks`", 2, max_degree));
    if (link.work == LinkWork::message && count != 2)
      return ranks->error(fmt::format("`ranks` of a message is {}; accepted: 2", count));
    link.ranks = static_cast<int>(count);
  }
  DOVETAIL_TRY(link.points, read_points(node, what, "bytes", "seconds", max_link_bytes));
  return link;
}

Status read_links(const Node& root, Profile& profile) {
  const auto links = root.find("links");
  if (!links) return {};
  if (!links->is_list() || links->size() == 0)
    return links->error(fmt::format("`links` is {}; accepted: a list of maps", links->describe()));
  for (std::size_t item = 0; item < links->size(); ++item) {
    DOVETAIL_TRY(LinkProfile link, read_link(links->item(item)));
    profile.links.push_back(std::move(link));
  }
  return {};
}

/// What a format has of keys.
struct FormatKeys {
  bool has_surroundings = true;

  Status check_root(const Node& root) const {
    return has_surroundings ? base::check_keys(root, "a profile", {"format", "name", "layers", "links", "cluster"})
                            : base::check_keys(root, "a profile", {"format", "name", "layers"});
  }
  Status check_layer(const Node& node) const {
    constexpr std::string_view what = "an item of `layers`";
    return has_surroundings
               ? base::check_keys(node, what,
                                  {"model", "gpu", "precision", "tensor", "expert", "experts", "forward", "backward",
                                   "decode", "embedding", "head", "optimizer"})
               : base::check_keys(node, what,
                                  {"model", "gpu", "tensor", "expert", "experts", "forward", "backward", "decode"});
  }
};

Result<FormatKeys> read_format(const Node& root) {
  const auto format = root.is_map() ? root.find("format") : std::nullopt;
  if (format && format->is_string() && format->text() == first_profile_format) return FormatKeys{false};
  DOVETAIL_CHECK(base::require_format(root, "a profile", profile_format));
  return FormatKeys{};
}

Result<LayerProfile> read_layer(const Node& node, const FormatKeys& keys, const std::filesystem::path& folder) {
  constexpr std::string_view what = "an item of `layers`";
  DOVETAIL_CHECK(keys.check_layer(node));
  DOVETAIL_TRY(const Node model, base::require(node, what, "model", "model: llama-2-7b"));
  LayerProfile layer;
  DOVETAIL_TRY(layer.model, plan::read_model(model, "layers", folder));
  DOVETAIL_TRY(const Node gpu, base::require(node, what, "gpu", "gpu: A100-80"));
  DOVETAIL_TRY(layer.gpu, base::read_name(gpu, "gpu"));
  if (const auto bundled = cluster::find_gpu(layer.gpu); bundled.ok()) layer.gpu = bundled->name;
  DOVETAIL_CHECK(read_kind(node, layer));
  DOVETAIL_TRY(layer.forward, read_table(node, "forward", layer_words));
  DOVETAIL_TRY(layer.backward, read_table(node, "backward", layer_words));
  DOVETAIL_TRY(layer.decode, read_table(node, "decode", decode_words));
  if (layer.forward.empty() && layer.backward.empty() && layer.decode.empty())
    return node.error(
        "there is nothing measured of the layer; accepted: `forward`, `backward`, `decode` or some of them");
  DOVETAIL_CHECK(read_surroundings(node, layer));
  return layer;
}

bool is_of_the_same(const LayerProfile& a, const LayerProfile& b) {
  return a.gpu == b.gpu && a.model == b.model && a.element_bytes == b.element_bytes && a.tensor == b.tensor &&
         a.expert == b.expert && a.with_experts == b.with_experts;
}

}  // namespace

Result<Profile> parse_profile(std::string_view content, const std::string& path) {
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, path));
  const Node root = document.root();
  DOVETAIL_TRY(const FormatKeys keys, read_format(root));
  DOVETAIL_CHECK(keys.check_root(root));
  Profile profile;
  DOVETAIL_TRY(const Node name, base::require(root, "a profile", "name", "name: a100/megatron"));
  DOVETAIL_TRY(profile.name, base::read_name(name, "name"));
  DOVETAIL_TRY(const Node layers, base::require(root, "a profile", "layers", "layers: [...]"));
  if (!layers.is_list() || layers.size() == 0)
    return layers.error(fmt::format("`layers` is {}; accepted: a list of maps", layers.describe()));
  for (std::size_t item = 0; item < layers.size(); ++item) {
    DOVETAIL_TRY(LayerProfile layer, read_layer(layers.item(item), keys, std::filesystem::path(path).parent_path()));
    for (const LayerProfile& other : profile.layers)
      if (is_of_the_same(layer, other))
        return layers.item(item).error(
            "there are two items of this model, GPU, precision and degrees; accepted: one of each, and bf16 and fp16 "
            "are one");
    profile.layers.push_back(std::move(layer));
  }
  DOVETAIL_CHECK(read_links(root, profile));
  // A job may name the file as its cluster.
  if (const auto cluster = root.find("cluster")) DOVETAIL_CHECK(cluster::read_cluster(*cluster));
  return profile;
}

}  // namespace dovetail::cost
