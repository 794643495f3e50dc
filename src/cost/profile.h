// Measured seconds of layers and decode steps, which stand in for the roofline where they are given.
//
// ReaL plans from such profiles alone (arXiv 2406.14088): each layer's passes, measured over a grid of batches and
// lengths. Here they are tables that are read between their points, and the roofline goes on where they end.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "cluster/collective.h"
#include "llm/layout.h"
#include "llm/transformer.h"

namespace dovetail::cost {

/// Seconds at an amount of work: tokens of a micro-batch on its tensor-parallel group, or sequences of a decode step.
struct ProfilePoint {
  double amount = 0;
  double seconds = 0;

  friend bool operator==(const ProfilePoint&, const ProfilePoint&) = default;
};

/// Points by rising amount, all measured at one length of sequences, or with one context before each.
struct ProfileCurve {
  double length = 0;
  std::vector<ProfilePoint> points;  ///< at least one

  friend bool operator==(const ProfileCurve&, const ProfileCurve&) = default;
};

/// Curves by rising length; empty where nothing was measured.
using ProfileTable = std::vector<ProfileCurve>;

/// Passes through the embedding or the head, whatever the length of sequences: points by rising tokens; empty where
/// they were not measured.
struct EndProfile {
  std::vector<ProfilePoint> forward;
  std::vector<ProfilePoint> backward;

  friend bool operator==(const EndProfile&, const EndProfile&) = default;
};

/// What a step of the optimizer moves of a parameter: gradient, two moments and the master weight in fp32, and the
/// 16-bit weight.
inline constexpr double bytes_an_optimizer_step = 30;

/// What was measured of one model on one kind of GPU, with one tensor-parallel degree.
struct LayerProfile {
  std::string gpu;  ///< its name, as clusters have it
  llm::Transformer model;
  std::optional<int> element_bytes =
      std::nullopt;  ///< of what it computed with; nothing: of whatever a job computes with
  int tensor = 1;
  int expert = 1;             ///< groups of experts
  bool with_experts = false;  ///< whether the layer is one with experts
  ProfileTable forward;       ///< of one layer, collectives left out
  ProfileTable backward;      ///< likewise, without recomputation
  ProfileTable decode;        ///< of a whole step of an instance, collectives and sampling and all
  EndProfile embedding;       ///< where it is of the same size
  EndProfile head;            ///< with the norm before it and the log-probabilities or values behind it
  /// Bytes a second of the optimizer's step, by bytes_an_optimizer_step.
  std::optional<double> optimizer_bandwidth = std::nullopt;

  friend bool operator==(const LayerProfile&, const LayerProfile&) = default;
};

/// What ranks of a node send each other.
enum class LinkWork : std::uint8_t { message, all_reduce };
constexpr auto names_of(LinkWork) {
  return std::array{base::EnumName{"message", LinkWork::message}, base::EnumName{"all_reduce", LinkWork::all_reduce}};
}

/// Seconds of messages, or of collectives of so many ranks, by rising bytes: of the message, or of each rank's buffer.
struct LinkProfile {
  LinkWork work = LinkWork::message;
  int ranks = 2;
  std::vector<ProfilePoint> points;  ///< at least one
};

struct Profile {
  std::string name;
  std::vector<LayerProfile> layers;
  std::vector<LinkProfile> links;  ///< inside a node
};

/// What of a profile is of this model, computed with numbers of so many bytes: layers of the same shape, whatever is
/// around them, the embedding and the head where these are of the same size, and decode steps where the whole model is
/// the same. Names make no difference.
std::vector<LayerProfile> profiles_of(const Profile& profile, const llm::Transformer& model, int element_bytes);

/// What the links inside a node do, by least squares of relative errors: each work has the hops and the share of its
/// bytes that cluster/collective.h says. Where sums were measured, of these alone: most bytes go by sums,
/// which are slower than single messages. Nothing where no link was measured.
std::optional<cluster::Link> measured_link(const Profile& profile);

/// The profile of a kind of layer on this GPU under this layout; null where there is none. Sequences that are cut
/// (context parallelism) were not measured.
const LayerProfile* find_layer_profile(const std::vector<LayerProfile>& profiles, std::string_view gpu,
                                       const llm::Layout& layout, bool with_experts);

/// The decode steps of an instance; null where there are none. Those of pipelines were not measured.
const ProfileTable* find_decode_profile(const std::vector<LayerProfile>& profiles, std::string_view gpu,
                                        const llm::Layout& layout);

/// Seconds by a model of the same thing: (amount, length).
using ModelledSeconds = std::function<double(double, double)>;

/// Likewise at this amount, whatever the length. REQUIRES: there are points.
double profiled_seconds(const std::vector<ProfilePoint>& points, double amount,
                        const std::function<double(double amount)>& modelled);

/// The seconds at this amount and length: between points linear in the amount, between curves linear in the length.
/// Beyond the range of either the nearest measured seconds times what `modelled` says of here over there: as the
/// roofline goes on. REQUIRES: the table is not empty; modelled seconds are above 0.
double profiled_seconds(const ProfileTable& table, double amount, double length, const ModelledSeconds& modelled);

/// Whether the table was measured on both sides of this amount and length.
bool is_within(const ProfileTable& table, double amount, double length);

}  // namespace dovetail::cost
