// Prepares a training run: checks the job and everything it reads, and finds a plan that the runtime supports.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "base/enum_names.h"
#include "control/run/run_checks.h"
#include "predict/closed_form/estimate.h"
#include "study/fusion_variants.h"
#include "transport/collectives.h"

namespace dovetail::answer {

/// Type of device that a run computes on.
enum class RunDevice : std::uint8_t { cpu, cuda };
constexpr auto names_of(RunDevice) {
  return std::array{base::EnumName{"cpu", RunDevice::cpu}, base::EnumName{"cuda", RunDevice::cuda}};
}

struct TrainingRunRequest {
  Input job;
  std::optional<Input> plan = std::nullopt;
  bool resume = false;
  std::optional<std::int64_t> iterations = std::nullopt;       ///< nullopt: as set in the job
  std::optional<study::FusionMode> fuse = std::nullopt;        ///< nullopt: as planned
  std::vector<std::string> placements = {};                    ///< names; empty: the job's, or all if it lists none
  std::optional<std::int64_t> plan_iterations = std::nullopt;  ///< plans to try per chain of the plan search
  std::optional<double> time_limit = std::nullopt;             ///< time limit of the plan search, in seconds
  std::optional<int> threads = std::nullopt;                   ///< per rank; nullopt: one
  RunDevice device = RunDevice::cpu;
  std::optional<transport::CarrierKind> carrier = std::nullopt;         ///< nullopt: NCCL between GPUs, otherwise Gloo
  std::optional<transport::CollectiveKind> collectives = std::nullopt;  ///< nullopt: default of the carrier
  std::optional<int> ranks = std::nullopt;                              ///< nullopt: the number of the job's devices
  /// Max seconds that a rank waits for another one. nullopt: 10 minutes, or 60 seconds with --stub.
  std::optional<double> timeout = std::nullopt;
  std::string folder = {};  ///< folder of the run; empty: runs/NAME for the job's name
};
template <std::same_as<TrainingRunRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, File{}, "job file with a `train` section, or a folder with a job.yaml"),
      option("plan", &T::plan, File{}, "plan to run (default: plan.json of the resumed run or JOB, else search)"),
      option("resume", &T::resume, Flag{}, "resume the run in the output folder"),
      option("iterations", &T::iterations, Count{1, 1'000'000'000},
             "number of iterations (default: as set in the job)"),
      option("fuse", &T::fuse, Choice{.none = "as-planned"}, "fusion (intra: trainings; inter: generation, inference)"),
      option("placement", &T::placements, String{"PLACEMENT"},
             "plan family, such as co-located (repeatable; default: the job's or all)"),
      option("plan-iterations", &T::plan_iterations, Count{1, 1'000'000'000'000},
             "plans to try per chain of the plan search"),
      option("time-limit", &T::time_limit, Seconds{}, "time limit of the plan search: seconds, or 500ms, 30s, 2m"),
      option("ranks", &T::ranks, Count{1, 1024}, "number of ranks on this machine (default: devices of the job)"),
      option("threads", &T::threads, Count{1, 1024}, "threads per rank (default 1)"),
      option("device", &T::device, Choice{}, "device type; cuda: one GPU per rank (default {})"),
      option("carrier", &T::carrier, Choice{}, "transport: nccl between GPUs, gloo via host (default: nccl on GPUs)"),
      option("collectives", &T::collectives, Choice{},
             "reductions: ordered by rank, or native (default: native with nccl)"),
      option("timeout", &T::timeout, Seconds{}, "max wait for another rank, such as 90s (default 10m; --stub: 60s)"),
      unlisted(&T::folder));
}

struct TrainingRunAnswer {
  control::RunJob run;
  std::vector<control::RunModel> models;
  std::size_t samples = 0;                                ///< training samples
  std::size_t validation = 0;                             ///< validation samples
  std::string folder;                                     ///< folder of the run
  std::optional<std::int64_t> iterations = std::nullopt;  ///< as requested; nullopt: as set in the job
  std::string plan_path;                                  ///< path of the plan's file; empty: found by a search
  plan::Plan plan;
  predict::Estimate estimate;
  Outcome outcome = Outcome::done;
};

/// Reads the job of dovetail train or dovetail profile. `ranks`, if given, replaces the number of the job's devices,
/// except that a cluster file must already have this many. Errors: an invalid job, standard input, and a trainer's
/// configuration.
base::Result<control::RunJob> read_run_job(const Input& job, std::optional<int> ranks);

/// Returns the Error about a request for NCCL on CPUs.
base::Error nccl_without_gpus();

/// Reads the job, checks its inputs (control::check_run) and its folder, then reads the plan or searches for one.
/// Without `request.plan`, a resumed run keeps the plan in its folder, unless `request.ranks` is given and this plan
/// cannot be used. Errors: an invalid job, input, folder or plan, a fusion that the runtime does not support,
/// and no plan that fits.
base::Result<TrainingRunAnswer> answer_to(const TrainingRunRequest& request, const Callbacks& callbacks);

/// Models and data of the run, and its plan.
Sections sections(const TrainingRunAnswer& answer);

}  // namespace dovetail::answer
