// Measured seconds of layers, decode steps and links. They replace the roofline where they exist.
//
// ReaL plans from such profiles alone (arXiv 2406.14088): it measures each layer's passes for a grid of batches and
// lengths. Here, measurements are tables, interpolated between their points and extrapolated with the roofline.
//
// The file format is dovetail/profile@2:
//
//   format: dovetail/profile@2
//   name: a100/megatron
//   layers:
//     - model: llama-2-7b         # as in a job: a bundled name, the path of a config.json, or a map
//       gpu: A100-80              # a bundled GPU, or a name that a cluster file defines
//       tensor: 2                 # tensor-parallel degree; default 1
//       forward:                  # seconds of one layer without collectives
//         - {length: 2048, tokens: [2048, 4096, 16384], seconds: [0.0011, 0.0019, 0.0073]}
//       backward:
//         - {length: 2048, tokens: [2048, 4096, 16384], seconds: [0.0022, 0.0038, 0.0146]}
//       decode:                   # seconds of a step of the whole model, including collectives and sampling
//         - {context: 1024, sequences: [1, 64, 256], seconds: [0.0121, 0.0135, 0.0198]}
//       precision: bf16           # of the measured computation: bf16, fp16 or fp32; default: matches every job
//       embedding: {tokens: [2048, 4096], forward: [1e-5, 2e-5], backward: [2e-5, 4e-5]}
//       head: {tokens: [2048, 4096], forward: [0.001, 0.002], backward: [0.002, 0.004]}
//       optimizer: 900GB/s        # speed of a step that moves 30 bytes per parameter
//   links:                        # within a node; work: message (the default) or all_reduce over `ranks` ranks
//     - {work: message, bytes: [1024, 1048576], seconds: [4e-6, 1.2e-5]}
//     - {work: all_reduce, ranks: 4, bytes: [1024, 1048576], seconds: [2e-5, 6e-5]}
//   cluster: {nodes: 1, gpus_per_node: 8, gpu: A100-80}   # lets a job use the file as its cluster
//
// For a model with experts, an entry of `layers` describes the layers with experts or, with `experts: false`, the dense
// layers. `expert: N` gives the expert-parallel degree; default 1.
//
// dovetail/profile@1 lacks the keys that follow `decode` in the example.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "cluster/collective.h"
#include "llm/layout.h"
#include "llm/transformer.h"

namespace dovetail::cost {

/// Measured time of a pass, a decode step or a communication. `amount` is the number of tokens in a micro-batch (on one
/// tensor-parallel group), of sequences in a decode step, or of bytes (LinkProfile).
struct ProfilePoint {
  double amount = 0;
  double seconds = 0;

  friend bool operator==(const ProfilePoint&, const ProfilePoint&) = default;
};

/// Points in ascending order of amount, all measured at one sequence length (for decoding: one context length).
struct ProfileCurve {
  double length = 0;
  std::vector<ProfilePoint> points;  ///< at least one

  friend bool operator==(const ProfileCurve&, const ProfileCurve&) = default;
};

/// Curves in ascending order of length. Empty if nothing was measured.
using ProfileTable = std::vector<ProfileCurve>;

/// Passes through the embedding or the head. Their times do not depend on sequence length. Points are in ascending
/// order of tokens, or empty if not measured.
struct EndProfile {
  std::vector<ProfilePoint> forward;
  std::vector<ProfilePoint> backward;

  friend bool operator==(const EndProfile&, const EndProfile&) = default;
};

/// Bytes per parameter that an optimizer step moves: gradient, two moments and master weight in fp32, and the 16-bit
/// weight.
inline constexpr double bytes_an_optimizer_step = 30;

/// Measurements of one model on one GPU type, with one tensor-parallel and one expert-parallel degree.
struct LayerProfile {
  std::string gpu;  ///< name of the GPU, as in the job's cluster
  llm::Transformer model;
  /// Bytes of an element in the computation; nullopt: matches every job.
  std::optional<int> element_bytes = std::nullopt;
  int tensor = 1;
  int expert = 1;             ///< expert-parallel degree
  bool with_experts = false;  ///< whether the layer has experts
  ProfileTable forward;       ///< forward of one layer, without collectives
  ProfileTable backward;      ///< backward of one layer, without collectives and recomputation
  ProfileTable decode;        ///< a whole decode step of an instance, including collectives and sampling
  EndProfile embedding;       ///< embedding, for models with the same vocabulary
  EndProfile head;            ///< head, with the norm before it and the log-probabilities or values after it
  /// Bytes per second of the optimizer step, which moves bytes_an_optimizer_step for each parameter.
  std::optional<double> optimizer_bandwidth = std::nullopt;

  friend bool operator==(const LayerProfile&, const LayerProfile&) = default;
};

/// Communication between ranks of a node.
enum class LinkWork : std::uint8_t { message, all_reduce };
constexpr auto names_of(LinkWork) {
  return std::array{base::EnumName{"message", LinkWork::message}, base::EnumName{"all_reduce", LinkWork::all_reduce}};
}

/// Seconds of messages, or of all-reduces over `ranks` ranks. Points are in ascending order of their amount: the bytes
/// of the message, or of each rank's buffer.
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

/// Returns the parts of a profile that apply to this model and precision: layers of the same shape, measured in any
/// model; embedding and head if they have the same size; and decode steps if the whole model is the same. Names are
/// ignored.
std::vector<LayerProfile> profiles_of(const Profile& profile, const llm::Transformer& model, int element_bytes);

/// Returns latency and bandwidth of the links inside a node, fitted by least squares of relative errors.
/// cluster/collective.h gives the hops and bytes of each kind of work. If all-reduces were measured, only these are
/// used: most bytes move in all-reduces, which are slower than single messages. nullopt if no link was measured.
std::optional<cluster::Link> measured_link(const Profile& profile);

/// Returns the profile of layers with or without experts on this GPU under this layout. Null if the profiles do not
/// have it, or with context parallelism, which they do not cover.
const LayerProfile* find_layer_profile(const std::vector<LayerProfile>& profiles, std::string_view gpu,
                                       const llm::Layout& layout, bool with_experts);

/// Returns the measured decode steps of an instance. Null if the profiles do not have them, or with pipeline or context
/// parallelism, which they do not cover.
const ProfileTable* find_decode_profile(const std::vector<LayerProfile>& profiles, std::string_view gpu,
                                        const llm::Layout& layout);

/// Modeled seconds as a function of (amount, length).
using ModelledSeconds = std::function<double(double, double)>;

/// Returns the seconds of this amount of work, for measurements that do not depend on length. The rules are those of
/// the overload below. REQUIRES: `points` is not empty, and modeled seconds are above 0.
double profiled_seconds(const std::vector<ProfilePoint>& points, double amount,
                        const std::function<double(double amount)>& modelled);

/// Returns the seconds of this amount of work at this length. Interpolates linearly in the amount between points, and
/// in the length between curves. Outside the measured range, multiplies the nearest measured seconds by the modeled
/// seconds at this amount and length, divided by those at the nearest measured point. REQUIRES: the table is not empty,
/// and modeled seconds are above 0.
double profiled_seconds(const ProfileTable& table, double amount, double length, const ModelledSeconds& modelled);

/// Returns whether this amount and length are within the measured range, so that profiled_seconds only interpolates.
bool is_within(const ProfileTable& table, double amount, double length);

inline constexpr std::string_view profile_format = "dovetail/profile@2";
inline constexpr std::string_view first_profile_format = "dovetail/profile@1";  ///< also accepted

/// Reads a profile from YAML or JSON text. Paths in it are relative to the directory of `path`. Errors have a line and
/// column.
base::Result<Profile> parse_profile(std::string_view content, const std::string& path);

}  // namespace dovetail::cost
