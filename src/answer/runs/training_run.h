// A job that is to be trained: all that it reads is checked, and it has a plan that the runtime runs.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "answer/question/watch.h"
#include "base/enum_names.h"
#include "control/run/run_checks.h"
#include "predict/closed_form/estimate.h"
#include "study/fusion_variants.h"
#include "transport/collectives.h"

namespace dovetail::answer {

/// What a run computes on.
enum class RunDevice : std::uint8_t { cpu, cuda };
constexpr auto names_of(RunDevice) {
  return std::array{base::EnumName{"cpu", RunDevice::cpu}, base::EnumName{"cuda", RunDevice::cuda}};
}

struct TrainingRunRequest {
  Input job;
  std::optional<Input> plan = std::nullopt;
  bool resume = false;
  std::optional<std::int64_t> iterations = std::nullopt;  ///< of the run; nothing: as the job says
  std::optional<study::FusionMode> fuse = std::nullopt;   ///< nothing: as planned
  std::vector<std::string> placements = {};               ///< by their names; none: those that the job names, or all
  std::optional<std::int64_t> plan_iterations = std::nullopt;  ///< of the search
  std::optional<double> time_limit = std::nullopt;             ///< likewise, in seconds
  std::optional<int> threads = std::nullopt;                   ///< of each rank; nothing: one
  RunDevice device = RunDevice::cpu;
  std::optional<transport::CarrierKind> carrier = std::nullopt;         ///< nothing: NCCL between GPUs, else Gloo
  std::optional<transport::CollectiveKind> collectives = std::nullopt;  ///< nothing: the carrier's usual ones
  std::optional<int> ranks = std::nullopt;                              ///< of the run; nothing: the job's devices
  std::optional<double> timeout = std::nullopt;                         ///< of a rank's wait for another, in seconds
  std::string folder = {};  ///< of the run; empty: runs/NAME, of the job's name
};
template <std::same_as<TrainingRunRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, File{}, "job file with a section `train`, or a folder with a job.yaml"),
      option(
          "plan", &T::plan, File{},
          "run this plan, a dovetail/plan@1 file; default: the plan.json in the folder JOB, else one that is searched"),
      option("resume", &T::resume, Flag{}, "go on with the run in the output folder"),
      option("iterations", &T::iterations, Count{1, 1'000'000'000}, "iterations of the run (default: as the job says)"),
      option("fuse", &T::fuse, Choice{.none = "as-planned"},
             "stage fusion: what the plan says, nothing, the trainings, generation with scoring, or both"),
      option("placement", &T::placements, Words{"PLACEMENT"},
             "plans of this family (may be given several times): co-located, interleaving, disaggregated, megatron, "
             "rlhfuse, searched"),
      option("plan-iterations", &T::plan_iterations, Count{1, 1'000'000'000'000},
             "iterations of each chain of the search for a plan"),
      option("time-limit", &T::time_limit, Seconds{}, "time of that search, in seconds or as 500ms, 30s, 2m"),
      option("ranks", &T::ranks, Count{1, 1024},
             "run on so many ranks of this machine, whatever devices the job has (default: its devices)"),
      option("threads", &T::threads, Count{1, 1024}, "threads of each rank (default: 1)"),
      option("device", &T::device, Choice{}, "what to compute on (default {}); with cuda each rank takes a GPU"),
      option("carrier", &T::carrier, Choice{},
             "what carries messages between ranks: nccl, from GPU to GPU, or gloo, through the memory of the host "
             "(default: nccl on GPUs)"),
      option("collectives", &T::collectives, Choice{},
             "who sums over ranks: ordered, in the order of ranks, or native, the library that carries the messages "
             "(default: native with nccl)"),
      option(
          "timeout", &T::timeout, Seconds{},
          "longest wait of a rank for another one, in seconds or as 90s, 30m (default: 10m); with --stub beyond what "
          "the schedule takes (default: 60s)"),
      unlisted(&T::folder));
}

struct TrainingRunAnswer {
  control::RunJob run;
  std::vector<control::RunModel> models;
  std::size_t samples = 0;                                ///< of the data that is trained on
  std::size_t validation = 0;                             ///< of the data that is evaluated on
  std::string folder;                                     ///< of the run
  std::optional<std::int64_t> iterations = std::nullopt;  ///< that were asked for
  std::string plan_path;                                  ///< of the plan's file; empty: it was searched
  plan::Plan plan;
  predict::Estimate estimate;
  Outcome outcome = Outcome::done;
};

/// The job of a run, or of what is measured for one. An Error of it; also of standard input, and of the configuration
/// of a trainer.
base::Result<control::RunJob> read_run_job(const Input& job, std::optional<int> ranks);

/// What whoever asks for NCCL on the processor hears.
base::Error nccl_without_gpus();

/// Reads the job, checks all that the run reads (control::check_run) and its folder, then reads the plan or finds one.
/// A run that goes on keeps the plan in its folder. Errors of all of these; a fusion that the runtime does not run; no
/// plan that fits.
base::Result<TrainingRunAnswer> ask(const TrainingRunRequest& request, const Watch& watch);

/// What is trained from what, on which plan.
Sections sections(const TrainingRunAnswer& answer);

}  // namespace dovetail::answer
