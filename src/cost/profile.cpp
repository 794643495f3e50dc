#include "cost/profile.h"

#include <algorithm>

#include "base/assert.h"

namespace dovetail::cost {
namespace {

/// A model of which only a layer is left.
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

/// The neighbours of `value` among items sorted by `key`, and how far it is from the first to the second; one of them
/// twice where it is the value itself, or the end that the value lies beyond.
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

/// Of a link whose large messages take no longer than its small ones: 1 PB/s.
constexpr double min_byte_seconds = 1e-15;

/// Hops of a work, and the part of its bytes that a link carries.
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
  // Who looks for one takes the first.
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
  // seconds = hops x + share bytes y, of which x is a hop's latency and y a byte's seconds; each point weighs as its
  // relative error.
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
  // Points of one size, or noise, tell no two things: then all is bandwidth, or all is latency.
  const double determinant = xx * yy - xy * xy;
  const bool tell_both = determinant > 1e-9 * xx * yy;
  double byte_seconds = tell_both ? (xx * y - xy * x) / determinant : y / yy;
  double latency = tell_both ? (yy * x - xy * y) / determinant : 0;
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

}  // namespace dovetail::cost
