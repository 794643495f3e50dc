// A schedule replayed: what its ranks do where ops wait in place of computing, beside what the schedule says.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/option.h"
#include "answer/question/section.h"
#include "answer/runs/replay_source.h"
#include "execute/replay_figures.h"
#include "timeline/timeline.h"

namespace dovetail::answer {

/// What carries the messages.
enum class ReplayTransport : std::uint8_t {
  threads,  ///< ranks are threads of this process
  gloo,     ///< ranks are processes of dovetail-train on this machine
};
constexpr auto names_of(ReplayTransport) {
  return std::array{base::EnumName{"threads", ReplayTransport::threads}, base::EnumName{"gloo", ReplayTransport::gloo}};
}

/// How ranks are run.
struct ReplayRun {
  std::size_t message_bytes = 0;                 ///< of each activation and gradient
  std::optional<double> timeout = std::nullopt;  ///< of each wait beyond what the schedule takes, seconds; nothing: 60
};

struct ReplayRequest {
  Input input;
  ReplaySearch search = {};
  /// Seconds that a tick takes, 0.02 by default. Where times are in seconds: what the shortest op takes, other than a
  /// step; by default as long as the schedule says.
  std::optional<double> tick = std::nullopt;
  ReplayTransport transport = ReplayTransport::threads;
  ReplayRun run = {};
  /// Runs a schedule in ns on processes. REQUIRES: it is there where the transport is gloo.
  std::function<base::Result<execute::ReplayTimes>(const pipeline::Schedule&, const ReplayRun&)> launch = {};
};
template <std::same_as<ReplayRequest> T>
auto options_of(const T*) {
  return options<T>(
      unlisted(&T::input), unlisted(&T::search),
      option("tick", &T::tick, Seconds{},
             "of --stub: what a tick takes (default: 20ms); of a schedule in seconds what its shortest pass takes "
             "(default: what it says)"),
      option("transport", &T::transport, Choice{},
             "of --stub (default {}): ranks as threads of one process, or as processes of dovetail-train"),
      group(&T::run), unlisted(&T::launch));
}
template <std::same_as<ReplayRun> T>
auto options_of(const T*) {
  return options<T>(option("message-bytes", &T::message_bytes, Count{0, 1'000'000'000},
                           "of --stub: size of each activation and gradient (default {})"),
                    unlisted(&T::timeout));
}

struct ReplayAnswer {
  ReplaySource source;
  ReplayTransport transport = ReplayTransport::threads;
  double ns_per_tick = 0;                             ///< of the source's schedule
  pipeline::Schedule schedule;                        ///< as it was replayed, in ns
  std::vector<std::vector<execute::ReplayedOp>> ops;  ///< [rank], a rank for each device
  execute::ReplayFigures figures;
  Outcome outcome = Outcome::done;
};

/// Of the source's schedule, in its unit.
base::Ticks makespan_of(const ReplayAnswer& answer);

/// Reads what is to be replayed, runs it, and measures. Errors of read_replay_source, of a tick that makes times too
/// long, of more ranks than can be run, of ranks that were lost (Failure::lost), of `launch`.
base::Result<ReplayAnswer> ask(const ReplayRequest& request, const Watch& watch);

/// How long it took beside what the schedule says, and where the difference is.
Sections sections(const ReplayAnswer& answer);
/// A dovetail/replay@1 object.
std::string to_json(const ReplayAnswer& answer);

/// What the schedule says, and what the ranks did: a lane a device, times in ns.
timeline::Timeline planned_timeline(const ReplayAnswer& answer);
timeline::Timeline measured_timeline(const ReplayAnswer& answer);

}  // namespace dovetail::answer
