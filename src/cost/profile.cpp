#include "cost/profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/amount.h"
#include "base/assert.h"
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

/// Returns the model with everything except the shape of a layer cleared.
llm::Transformer layer_of(llm::Transformer model) {
  model.name.clear();
  model.layers = 0;
  model.vocabulary = 0;
  model.positions = 0;
  model.head = llm::Head::language_model;
  model.tied_embeddings = false;
  if (model.experts) model.experts->dense_layers = 0;
  return model;
}

bool is_same_model(llm::Transformer a, const llm::Transformer& b) {
  a.name = b.name;
  return a == b;
}

/// Neighbors of a value among items sorted by a key, and the fraction of the way from `below` to `above`. Both are the
/// same item if it equals the value or if the value is out of range.
struct Neighbours {
  std::size_t below = 0;
  std::size_t above = 0;
  double share = 0;
};

template <class Item>
Neighbours neighbours_of(const std::vector<Item>& items, double Item::* key, double value) {
  const auto above =
      std::lower_bound(items.begin(), items.end(), value, [key](const Item& item, double v) { return item.*key < v; });
  if (above == items.begin()) return {};
  const auto index = static_cast<std::size_t>(above - items.begin());
  if (above == items.end()) return {index - 1, index - 1, 0};
  if (items[index].*key == value) return {index, index, 0};
  const double low = items[index - 1].*key;
  return {index - 1, index, (value - low) / (items[index].*key - low)};
}

double on_curve(const ProfileCurve& curve, double amount, const ModelledSeconds& modelled) {
  return profiled_seconds(curve.points, amount, [&](double other) { return modelled(other, curve.length); });
}

bool has_same_head(const llm::Transformer& a, const llm::Transformer& b) {
  return a.head == b.head && (a.head == llm::Head::scalar || a.vocabulary == b.vocabulary);
}

/// For a link whose large messages take no longer than its small ones: 1 PB/s.
constexpr double min_byte_seconds = 1e-15;

/// Hops of a message or collective, and the fraction of its bytes that a link carries.
struct LinkUse {
  double hops = 1;
  double share = 1;
};

LinkUse use_of(const LinkProfile& link) {
  if (link.work == LinkWork::message) return {};
  const double others = link.ranks - 1;
  return {2 * others, 2 * others / link.ranks};
}

bool is_sum(const LinkProfile& link) { return link.work == LinkWork::all_reduce; }

}  // namespace

std::vector<LayerProfile> profiles_of(const Profile& profile, const llm::Transformer& model, int element_bytes) {
  std::vector<LayerProfile> found;
  for (LayerProfile layer : profile.layers) {
    if (layer_of(layer.model) != layer_of(model)) continue;
    if (layer.element_bytes && *layer.element_bytes != element_bytes) continue;
    if (!is_same_model(layer.model, model)) layer.decode.clear();
    if (layer.model.vocabulary != model.vocabulary) layer.embedding = {};
    if (!has_same_head(layer.model, model)) layer.head = {};
    found.push_back(std::move(layer));
  }
  // Lookups take the first match, so profiles with a given precision come first.
  std::stable_partition(found.begin(), found.end(),
                        [](const LayerProfile& layer) { return layer.element_bytes.has_value(); });
  return found;
}

const LayerProfile* find_layer_profile(const std::vector<LayerProfile>& profiles, std::string_view gpu,
                                       const llm::Layout& layout, bool with_experts) {
  if (layout.context > 1) return nullptr;
  const auto found = std::find_if(profiles.begin(), profiles.end(), [&](const LayerProfile& profile) {
    return profile.gpu == gpu && profile.tensor == layout.tensor && profile.with_experts == with_experts &&
           (!with_experts || profile.expert == layout.expert);
  });
  return found == profiles.end() ? nullptr : &*found;
}

const ProfileTable* find_decode_profile(const std::vector<LayerProfile>& profiles, std::string_view gpu,
                                        const llm::Layout& layout) {
  if (layout.context > 1 || layout.pipeline > 1) return nullptr;
  const auto found = std::find_if(profiles.begin(), profiles.end(), [&](const LayerProfile& profile) {
    return profile.gpu == gpu && profile.tensor == layout.tensor && profile.expert == layout.expert &&
           !profile.decode.empty();
  });
  return found == profiles.end() ? nullptr : &found->decode;
}

std::optional<cluster::Link> measured_link(const Profile& profile) {
  // seconds = hops x + share bytes y, where x is the latency of a hop and y the seconds of a byte. Each point is
  // weighted to give its relative error.
  double xx = 0;
  double xy = 0;
  double yy = 0;
  double x = 0;
  double y = 0;
  const bool has_sums = std::any_of(profile.links.begin(), profile.links.end(), is_sum);
  for (const LinkProfile& link : profile.links) {
    if (is_sum(link) != has_sums) continue;
    const LinkUse use = use_of(link);
    for (const ProfilePoint& point : link.points) {
      const double a = use.hops / point.seconds;
      const double b = use.share * point.amount / point.seconds;
      xx += a * a;
      xy += a * b;
      yy += b * b;
      x += a;
      y += b;
    }
  }
  if (xx == 0) return std::nullopt;
  // Points of one size, or noise, cannot determine both. Then all of the time is attributed to bandwidth, or all to
  // latency.
  const double determinant = xx * yy - xy * xy;
  const bool is_separable = determinant > 1e-9 * xx * yy;
  double byte_seconds = is_separable ? (xx * y - xy * x) / determinant : y / yy;
  double latency = is_separable ? (yy * x - xy * y) / determinant : 0;
  if (latency < 0) {
    latency = 0;
    byte_seconds = y / yy;
  }
  if (byte_seconds <= 0) {
    latency = x / xx;
    byte_seconds = min_byte_seconds;
  }
  return cluster::Link{1 / byte_seconds, latency, 0};
}

double profiled_seconds(const std::vector<ProfilePoint>& points, double amount,
                        const std::function<double(double amount)>& modelled) {
  const Neighbours near = neighbours_of(points, &ProfilePoint::amount, amount);
  const ProfilePoint& below = points[near.below];
  const ProfilePoint& above = points[near.above];
  if (near.below == near.above && amount != below.amount)
    return below.seconds * modelled(amount) / modelled(below.amount);
  return below.seconds + near.share * (above.seconds - below.seconds);
}

double profiled_seconds(const ProfileTable& table, double amount, double length, const ModelledSeconds& modelled) {
  DOVETAIL_ASSERT(!table.empty());
  const Neighbours near = neighbours_of(table, &ProfileCurve::length, length);
  const ProfileCurve& below = table[near.below];
  const double seconds = on_curve(below, amount, modelled);
  if (near.below == near.above)
    return length == below.length ? seconds : seconds * modelled(amount, length) / modelled(amount, below.length);
  return seconds + near.share * (on_curve(table[near.above], amount, modelled) - seconds);
}

bool is_within(const ProfileTable& table, double amount, double length) {
  const auto covers = [amount](const ProfileCurve& curve) {
    return curve.points.front().amount <= amount && amount <= curve.points.back().amount;
  };
  if (table.empty() || length < table.front().length || length > table.back().length) return false;
  const Neighbours near = neighbours_of(table, &ProfileCurve::length, length);
  return covers(table[near.below]) && covers(table[near.above]);
}

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

/// Keys of a table for its amounts and lengths, and an example for errors.
struct TableKeys {
  std::string_view amounts;
  std::string_view length;
  std::string_view example;
};
constexpr TableKeys layer_keys{"tokens", "length", "{length: 2048, tokens: [2048, 4096], seconds: [0.001, 0.002]}"};
constexpr TableKeys decode_keys{"sequences", "context", "{context: 1024, sequences: [1, 64], seconds: [0.012, 0.014]}"};

Result<std::vector<double>> read_numbers(const Node& map, const std::string& what, std::string_view key, double least,
                                         double most) {
  DOVETAIL_TRY(const Node list, base::require(map, what, key));
  if (!list.is_list() || list.size() == 0)
    return list.error(fmt::format("{} of {} is {}; accepted: a non-empty list of numbers", quote(key), what,
                                  list.is_list() ? "an empty list" : list.describe()));
  std::vector<double> numbers;
  for (std::size_t item = 0; item < list.size(); ++item) {
    DOVETAIL_TRY(const double number, base::read_number(list.item(item), quote(key), least, most));
    numbers.push_back(number);
  }
  return numbers;
}

/// Reads a list of amounts and a list of seconds of the same size.
Result<std::vector<ProfilePoint>> read_points(const Node& map, const std::string& what, std::string_view amounts_key,
                                              std::string_view seconds_key, double most = max_amount) {
  DOVETAIL_TRY(const std::vector<double> amounts, read_numbers(map, what, amounts_key, 1, most));
  DOVETAIL_TRY(const std::vector<double> seconds, read_numbers(map, what, seconds_key, min_seconds, max_seconds));
  if (amounts.size() != seconds.size())
    return map.error(
        fmt::format("the number of values is {0} in `{1}` and {2} in `{3}`; both lists must have the same size",
                    amounts.size(), amounts_key, seconds.size(), seconds_key));
  std::vector<ProfilePoint> points;
  for (std::size_t index = 0; index < amounts.size(); ++index) {
    if (index > 0 && amounts[index] <= amounts[index - 1])
      return map.find(amounts_key)
          ->item(index)
          .error(fmt::format("{} must be in ascending order, without duplicates", quote(amounts_key)));
    points.push_back({amounts[index], seconds[index]});
  }
  return points;
}

Result<ProfileCurve> read_curve(const Node& node, const std::string& what, const TableKeys& keys) {
  DOVETAIL_CHECK(base::check_keys(node, what, {keys.length, keys.amounts, "seconds"}));
  DOVETAIL_TRY(const Node length, base::require(node, what, keys.length));
  ProfileCurve curve;
  DOVETAIL_TRY(curve.length,
               base::read_number(length, quote(keys.length), 1, static_cast<double>(workflow::max_length)));
  DOVETAIL_TRY(curve.points, read_points(node, what, keys.amounts, "seconds"));
  return curve;
}

/// Reads a list of curves and sorts them by length. Empty if the key is missing.
Result<ProfileTable> read_table(const Node& layer, std::string_view key, const TableKeys& keys) {
  ProfileTable table;
  const auto list = layer.find(key);
  if (!list) return table;
  if (!list->is_list() || list->size() == 0)
    return list->error(fmt::format("{} is {}; accepted: a non-empty list of maps such as {}", quote(key),
                                   list->is_list() ? "an empty list" : list->describe(), keys.example));
  for (std::size_t item = 0; item < list->size(); ++item) {
    DOVETAIL_TRY(ProfileCurve curve, read_curve(list->item(item), fmt::format("an item of {}", quote(key)), keys));
    const auto twice = std::find_if(table.begin(), table.end(),
                                    [&](const ProfileCurve& other) { return other.length == curve.length; });
    if (twice != table.end())
      return list->item(item).error(
          fmt::format("{} {} appears twice in {}; list each once", keys.length, curve.length, quote(key)));
    table.push_back(std::move(curve));
  }
  std::sort(table.begin(), table.end(),
            [](const ProfileCurve& a, const ProfileCurve& b) { return a.length < b.length; });
  return table;
}

Result<int> read_degree(const Node& layer, std::string_view key) {
  const auto node = layer.find(key);
  if (!node) return 1;
  DOVETAIL_TRY(const std::int64_t degree, base::read_integer(*node, quote(key), 1, max_degree));
  return static_cast<int>(degree);
}

Status read_kind(const Node& node, LayerProfile& layer) {
  const auto experts = node.find("experts");
  layer.with_experts = layer.model.experts.has_value();
  if (experts) {
    DOVETAIL_TRY(layer.with_experts, base::read_flag(*experts, "experts"));
    if (layer.with_experts && !layer.model.experts)
      return experts->error("`experts` is true, but the model has no experts; accepted: false");
  }
  DOVETAIL_TRY(layer.tensor, read_degree(node, "tensor"));
  DOVETAIL_TRY(layer.expert, read_degree(node, "expert"));
  if (layer.expert > 1 && !layer.model.experts)
    return node.find("expert")->error(
        fmt::format("`expert` is {}, but the model has no experts; accepted: 1", layer.expert));
  return {};
}

/// Reads the passes of the embedding or the head. Empty if the key is missing.
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
    return node->error(fmt::format("{} has no measurements; accepted: `forward`, `backward` or both", what));
  return end;
}

/// Reads a precision as bytes per number. nullopt if the key is missing.
Result<std::optional<int>> read_precision(const Node& layer) {
  const auto node = layer.find("precision");
  if (!node) return std::optional<int>();
  const std::string_view text = node->is_string() ? node->text() : std::string_view();
  if (text == "bf16" || text == "fp16") return std::optional(2);
  if (text == "fp32") return std::optional(4);
  return node->error(fmt::format("`precision` is {}; accepted: bf16, fp16, fp32", node->describe()));
}

/// Reads the keys of a layer that the second version of the format added.
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
    DOVETAIL_TRY(const std::int64_t count, base::read_integer(*ranks, "`ranks`", 2, max_degree));
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
    return links->error(fmt::format("`links` is {}; accepted: a non-empty list of maps",
                                    links->is_list() ? "an empty list" : links->describe()));
  for (std::size_t item = 0; item < links->size(); ++item) {
    DOVETAIL_TRY(LinkProfile link, read_link(links->item(item)));
    profile.links.push_back(std::move(link));
  }
  return {};
}

/// Keys that a version of the format accepts.
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
  DOVETAIL_TRY(layer.forward, read_table(node, "forward", layer_keys));
  DOVETAIL_TRY(layer.backward, read_table(node, "backward", layer_keys));
  DOVETAIL_TRY(layer.decode, read_table(node, "decode", decode_keys));
  if (layer.forward.empty() && layer.backward.empty() && layer.decode.empty())
    return node.error("the layer has no measurements; accepted: one or more of `forward`, `backward`, `decode`");
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
    return layers.error(fmt::format("`layers` is {}; accepted: a non-empty list of maps",
                                    layers.is_list() ? "an empty list" : layers.describe()));
  for (std::size_t item = 0; item < layers.size(); ++item) {
    DOVETAIL_TRY(LayerProfile layer, read_layer(layers.item(item), keys, std::filesystem::path(path).parent_path()));
    for (const LayerProfile& other : profile.layers)
      if (is_of_the_same(layer, other))
        return layers.item(item).error(
            "another item has the same model, GPU, precision and degrees; list each once (bf16 and fp16 count as one "
            "precision)");
    profile.layers.push_back(std::move(layer));
  }
  DOVETAIL_CHECK(read_links(root, profile));
  // A job may use the file as its cluster.
  if (const auto cluster = root.find("cluster")) DOVETAIL_CHECK(cluster::read_cluster(*cluster));
  return profile;
}

}  // namespace dovetail::cost
