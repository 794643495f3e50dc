// Lanes with bars, counters and arrows: what schedules, simulations and measured runs become before they are drawn,
// compared or written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "timeline/bar_kind.h"

namespace dovetail::timeline {

/// Who work belongs to.
struct Track {
  enum class Kind : std::uint8_t { pipeline, task };
  std::string name;
  std::int32_t model = 0;    ///< colours go by model (-1: none),
  std::int32_t replica = 0;  ///< shades by replica
  Kind kind = Kind::pipeline;
};

/// A stretch of time on one lane. What is not known of it is -1.
struct Bar {
  base::Ticks begin;
  base::Ticks end;
  BarKind bar_kind = BarKind::work;
  std::int32_t track = -1;  ///< index into Timeline::tracks: whose work it is, or the task that idle time waits for
  std::int32_t microbatch = -1;  ///< or mini-batch of a step
  std::int32_t stage = -1;
  std::int64_t sequences = -1;  ///< that are decoded or scored
  base::Ticks launch = {};      ///< of work: the part in which the device waits for launches
  std::int32_t awaits = -1;     ///< idle: number of the bar that is waited for
  std::int32_t partner = -1;    ///< of two timelines over each other: number of the same bar in the other one
  std::int32_t name = -1;       ///< of a trace: index into Timeline::names
  std::int32_t category = -1;   ///< of a trace: index into Timeline::categories
};

/// A row of bars, in order of time; they do not overlap. They follow those of the lane above in Timeline::bars.
struct Lane {
  std::string name;
  std::size_t bars = 0;
  bool joined = false;  ///< belongs to the lane above: what runs within its bars, or the same lane of another timeline
};

/// A quantity of a lane that changes in steps: (time, value from then on), times ascending.
struct Counter {
  std::string name;  ///< "activation held"
  std::string unit;  ///< "bytes"; or empty, and values are millionths of a unit that nobody names
  std::size_t lane = 0;
  std::vector<std::pair<base::Ticks, base::Memory>> steps;
  std::optional<base::Memory> capacity = {};
};

/// A transfer from the end of one bar to the start of another: their numbers.
struct Arrow {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

/// What the time 0 of a timeline is.
enum class Beginning : std::uint8_t {
  fixed,    ///< when all begins: a schedule
  repeats,  ///< anywhere in what repeats: an iteration of a plan, whose end joins its beginning
  unknown,  ///< when somebody began to measure, or to play
};

struct Timeline {
  std::string title;
  std::string lane_noun = "lane";  ///< what a lane is, in the singular: "device"
  base::TimeUnit time_unit = base::TimeUnit::tick;
  base::Ticks end;  ///< no bar ends later
  Beginning beginning = Beginning::fixed;
  std::vector<Track> tracks;
  std::vector<std::string> names;       ///< of bars of a trace
  std::vector<std::string> categories;  ///< of bars of a trace
  std::vector<Lane> lanes;
  std::vector<Bar> bars;  ///< lane by lane; a bar's number is its index
  std::vector<Arrow> arrows;
  std::vector<Counter> counters;   ///< those of the first one's name are drawn, the first of each lane
  std::vector<std::string> notes;  ///< what was left out or made up, a sentence each
};

/// [lane] the number of its first bar; the last entry is the number of bars.
std::vector<std::size_t> first_bars(const Timeline& timeline);
/// The lane of a bar. `first`: first_bars.
std::size_t lane_of(const std::vector<std::size_t>& first, std::size_t bar);
/// The bars of one lane.
std::span<const Bar> bars_of(const Timeline& timeline, std::size_t lane);
std::span<Bar> bars_of(Timeline& timeline, std::size_t lane);
/// Adds a lane with these bars.
void add_lane(Timeline& timeline, std::string name, const std::vector<Bar>& bars, bool joined = false);

/// [lane] the counter that is drawn; null where it has none.
std::vector<const Counter*> drawn_counters(const Timeline& timeline);
/// The largest value of `counter` and the first time it has it; zeros where it has no steps.
std::pair<base::Ticks, base::Memory> peak_of(const Counter& counter);
/// A value of `counter` in its unit. For pictures.
double amount_of(const Counter& counter, base::Memory value);

/// Time by BarKind; what a bar waits for launches is time of BarKind::launch, not of its own kind. That of a lane
/// without gaps sums up to the timeline's end. REQUIRES, of all lanes: lanes x end fits 63 bits.
using TimeByBarKind = std::array<base::Ticks, bar_kinds>;
TimeByBarKind time_by_bar_kind(std::span<const Bar> bars);

/// Whether nothing but the name of a bar says what it is.
bool is_known_by_name(const Bar& bar);
/// What a bar is called: "F7 actor" of a pipeline's op, "decode of actor_generate" of a task's work, "dependency" of
/// idle time, its own name where nothing else is known.
std::string title_of(const Timeline& timeline, const Bar& bar);
/// Likewise, with the task that idle time waits for: "dependency on reward_infer".
std::string full_title(const Timeline& timeline, const Bar& bar);
/// "F7 of actor, stage 3": an op of a pipeline.
std::string describe(const Timeline& timeline, const Bar& op);

}  // namespace dovetail::timeline
