// Efficiency constants, which calibration fits: the fractions of a machine's published figures that software reaches,
// and the overheads of the software.
//
// The file format dovetail/efficiency@1 stores a set of these constants. `dovetail calibrate` writes such a file, and a
// job may name one:
//
//   {"format": "dovetail/efficiency@1", "name": "h100/megatron-vllm", "error": 0.14,
//    "constants": {"matrix_products": 0.476, "slot": 0.0015}}
//
// `error` is Efficiency::error. Constants are named after the members of Efficiency. Those of `links` have names like
// links.inside.latency. Missing constants have the defaults of Efficiency.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "cluster/collective.h"

namespace dovetail::cost {

/// Constants of one GPU type, one engine version and one site (docs/facts.md#scope-of-constants), independent of
/// the model and the run. The defaults are assumptions for unmeasured software.
struct Efficiency {
  std::string name = "assumed";

  double error = 0.25;  ///< mean relative error of predicted iteration times outside the fit; assumed if not measured

  double matrix_products = 0.45;  ///< fraction of peak FLOP/s, in training and inference
  double expert_products = 0.25;  ///< fraction of peak FLOP/s for routed experts, whose matrices are small
  double layer_launch = 0;        ///< minimum seconds of a layer's forward, for launching its kernels one by one
  /// Extra seconds of a layer with experts, for routing, sorting and waiting for counts.
  double expert_launch = 1e-3;
  double slot = 1e-3;              ///< seconds of overhead for each pass of a micro-batch through a stage
  double exposed_gradients = 0.5;  ///< fraction of gradient collectives that computation does not hide

  double memory_bandwidth = 0.7;  ///< fraction of the published bandwidth, in decoding and in the optimizer
  double decode_products = 0.5;   ///< fraction of peak FLOP/s, in decoding
  double decode_layer = 2e-5;     ///< seconds of small kernels for each layer and decode step
  double decode_launch = 0;   ///< launch seconds of a layer's own kernels in a decode step; 7e-4 without CUDA graphs
  double decode_reduce = 0;   ///< launch seconds of an all-reduce on each rank; about 1e-4 without CUDA graphs
  double decode_step = 1e-3;  ///< seconds of overhead of a decode step for each pipeline stage
  double decode_sequence = 1e-5;  ///< seconds of overhead of a decode step for each sequence: sampling, detokenizing

  cluster::CommunicationEfficiency links;
  double host_bandwidth = 0.4;  ///< fraction of the published bandwidth, to and from host memory
  double refit_links = 0.5;     ///< fraction of link bandwidth that a weight sync reaches, tensor by tensor
  double refit_tensor = 2e-4;   ///< seconds of a weight sync for each tensor; each expert has separate tensors
  double refit = 3;             ///< seconds of each weight sync: waking up, allocating the cache, capturing graphs
  double task = 1;              ///< seconds of each training or inference task: sending its data, collecting results
  double iteration = 2;         ///< seconds of an iteration outside all tasks
};

/// Returns the names that find_efficiency accepts: "GPU/software", and "assumed" for the defaults.
std::vector<std::string_view> efficiency_names();

/// Returns the bundled set of that name. For an unknown name, returns an Error that suggests up to two names and lists
/// all. The values come from `dovetail_accuracy` (bench/accuracy.cpp), which fits them, and from `dovetail calibrate`
/// for runs of dovetail-train. docs/accuracy.md lists the measurements of each fit and its error.
base::Result<Efficiency> find_efficiency(std::string_view name);

/// The machines and trainers that a bundled set applies to.
struct FittedTo {
  std::string_view efficiency;             ///< name of the set
  std::string_view gpu;                    ///< name of a GPU
  std::vector<std::string_view> training;  ///< names of the conventions of the measured trainers
  bool is_for_any_gpu = false;             ///< applies to `training` on every GPU; false: to every trainer on `gpu`
};
/// Returns the set that applies to this GPU and these conventions, or null. The set of ReaL's runtime is never
/// returned: a job must name it.
const FittedTo* fitted_to(std::string_view gpu, std::string_view conventions);

inline constexpr std::string_view efficiency_format = "dovetail/efficiency@1";

/// A constant of Efficiency and the range that files and fits accept. Fractions are at most 1.
struct EfficiencyConstant {
  std::string_view name;
  double low = 0;  ///< above 0
  double high = 0;
  bool may_be_zero = false;  ///< 0, which means no such overhead, is accepted as well
  double& (*of)(Efficiency&) = nullptr;
};

/// Returns all constants in file order.
const std::vector<EfficiencyConstant>& efficiency_constants();
/// Returns the constant of that name, or null.
const EfficiencyConstant* find_constant(std::string_view name);

/// Reads the constants in `map` into `efficiency` and ignores the keys in `others`. `what` names the map in messages.
/// Errors have a position.
base::Status read_constants(const base::Node& map, std::string_view what, const std::vector<std::string_view>& others,
                            Efficiency& efficiency);

/// Reads a set of constants from JSON or YAML. Errors have a line and column.
base::Result<Efficiency> parse_efficiency(std::string_view content, const std::string& path);

/// Returns the set as JSON. parse_efficiency reads it back unchanged.
std::string efficiency_to_json(const Efficiency& efficiency);

}  // namespace dovetail::cost
