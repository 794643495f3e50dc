// Replays a schedule on ranks that sleep instead of computing, and compares the result with the schedule.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/option.h"
#include "answer/question/section.h"
#include "base/enum_names.h"
#include "base/result.h"
#include "execute/replay_figures.h"
#include "pipeline/schedule/schedule.h"
#include "study/fusion_variants.h"
#include "timeline/timeline.h"

namespace dovetail::answer {

/// Where a replayed schedule comes from: found for a problem, read from a file, or made for the training of a job. Some
/// options of ReplaySearch apply only to some kinds.
enum class ReplaySourceKind : std::uint8_t { problem, schedule, job };
constexpr auto names_of(ReplaySourceKind) {
  return std::array{base::EnumName{"problem", ReplaySourceKind::problem},
                    base::EnumName{"schedule", ReplaySourceKind::schedule},
                    base::EnumName{"job", ReplaySourceKind::job}};
}

/// Options for finding the schedule of a problem or a job.
struct ReplaySearch {
  std::optional<Input> plan = std::nullopt;               ///< for a job; nullopt: see read_replay_source
  std::optional<study::FusionMode> fuse = std::nullopt;   ///< for a job; nullopt: as planned
  std::optional<std::int64_t> iterations = std::nullopt;  ///< per chain
  std::optional<double> time_limit = std::nullopt;        ///< in seconds
};

struct ReplaySource {
  std::string name;
  ReplaySourceKind kind = ReplaySourceKind::schedule;
  pipeline::Schedule schedule;
};

/// Reads a problem, a schedule or a job from `input`. A schedule must be valid and have times, so a CSV is rejected. A
/// problem or a bundled instance is scheduled as `dovetail schedule` does. A job may be a file or a folder with a
/// job.yaml. It uses the plan of `search`, otherwise the plan.json in that folder, otherwise the best plan found. The
/// source's schedule is then the fused schedule of the job's training. If the plan does not fuse it, the schedule is
/// 1F1B, or interleaved 1F1B for a task with virtual stages. Errors: failures to read the input or to find a schedule,
/// an option that does not apply to the kind of input, and train tasks that do not form one schedule.
base::Result<ReplaySource> read_replay_source(const Input& input, const ReplaySearch& search,
                                              const Callbacks& callbacks);

/// How messages between ranks travel.
enum class ReplayTransport : std::uint8_t {
  threads,  ///< ranks are threads of this process
  gloo,     ///< ranks are dovetail-train processes on this machine
};
constexpr auto names_of(ReplayTransport) {
  return std::array{base::EnumName{"threads", ReplayTransport::threads}, base::EnumName{"gloo", ReplayTransport::gloo}};
}

/// Settings of the ranks.
struct ReplayRun {
  std::size_t message_bytes = 0;  ///< size of each activation and gradient message
  /// Maximum wait for a message, in seconds, in addition to the makespan; nullopt: 60.
  std::optional<double> timeout = std::nullopt;
};

struct ReplayRequest {
  Input input;
  ReplaySearch search = {};
  /// For a schedule in ticks, the duration of a tick in seconds; nullopt: 0.02. For a schedule in a unit of time, the
  /// duration in seconds to which its shortest op (except optimizer steps) is scaled; nullopt: not scaled.
  std::optional<double> tick = std::nullopt;
  ReplayTransport transport = ReplayTransport::threads;
  ReplayRun run = {};
  /// Replays a schedule, whose times must be in ns, with processes as ranks. REQUIRES: it is set if the transport is
  /// gloo.
  std::function<base::Result<execute::ReplayTimes>(const pipeline::Schedule&, const ReplayRun&)> launch = {};
};
template <std::same_as<ReplayRequest> T>
auto options_of(const T*) {
  return options<T>(
      unlisted(&T::input), unlisted(&T::search),
      option("tick", &T::tick, Seconds{}, "--stub: time per tick (default 20ms); without ticks: of the shortest op"),
      option("transport", &T::transport, Choice{}, "ranks of --stub: threads or Gloo processes (default {})"),
      group(&T::run), unlisted(&T::launch));
}
template <std::same_as<ReplayRun> T>
auto options_of(const T*) {
  return options<T>(option("message-bytes", &T::message_bytes, Count{0, 1'000'000'000},
                           "bytes of each activation and gradient of --stub (default {})"),
                    unlisted(&T::timeout));
}

struct ReplayAnswer {
  ReplaySource source;
  ReplayTransport transport = ReplayTransport::threads;
  double ns_per_tick = 0;                             ///< replayed ns per tick (or per ns) of the source's schedule
  pipeline::Schedule schedule;                        ///< as replayed, in ns
  std::vector<std::vector<execute::ReplayedOp>> ops;  ///< [rank]; one rank per device
  execute::ReplayFigures figures;
  Outcome outcome = Outcome::done;
};

/// Returns the makespan of the source's schedule, in ticks, or in ns if the schedule has a unit of time.
base::Ticks makespan_of(const ReplayAnswer& answer);

/// Reads the input, replays it, and measures the times of its ops. Errors: a tick that makes times too long, too many
/// ranks, lost ranks (Failure::lost), and errors of read_replay_source and `launch`.
base::Result<ReplayAnswer> answer_to(const ReplayRequest& request, const Callbacks& callbacks);

/// Measured and planned makespan, the executor's overhead, and the op that ends latest after its planned end.
Sections sections(const ReplayAnswer& answer);
/// A dovetail/replay@1 object.
std::string to_json(const ReplayAnswer& answer);

/// Timelines of the schedule and of the ranks: one lane per device, times in ns.
timeline::Timeline planned_timeline(const ReplayAnswer& answer);
timeline::Timeline measured_timeline(const ReplayAnswer& answer);

}  // namespace dovetail::answer
