// Lanes with bars, counters and arrows: the common form in which schedules, simulations and measured runs are drawn,
// compared and written.
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

/// Owner of work: a pipeline or a task.
struct Track {
  enum class Kind : std::uint8_t { pipeline, task };
  std::string name;
  std::int32_t model = 0;    ///< selects the color (-1: none)
  std::int32_t replica = 0;  ///< selects the shade
  Kind kind = Kind::pipeline;
};

/// An interval on one lane. Unknown values are -1.
struct Bar {
  base::Ticks begin;
  base::Ticks end;
  BarKind bar_kind = BarKind::work;
  std::int32_t track = -1;       ///< index into Timeline::tracks: owner of the work, or task that idle time waits for
  std::int32_t microbatch = -1;  ///< number of the micro-batch; for a step, of the mini-batch
  std::int32_t stage = -1;
  std::int64_t sequences = -1;  ///< number of sequences in decode or inference
  base::Ticks launch = {};      ///< for work: time spent waiting for kernel launches
  std::int32_t awaits = -1;     ///< for idle time: number of the bar that it waits for
  std::int32_t partner = -1;    ///< for overlaid timelines: number of the same bar in the other timeline
  std::int32_t name = -1;       ///< for traces: index into Timeline::names
  std::int32_t category = -1;   ///< for traces: index into Timeline::categories
};

/// A row of bars in order of time, without overlap. In Timeline::bars, the bars of a lane follow the bars of the
/// previous lane.
struct Lane {
  std::string name;
  std::size_t bars = 0;  ///< number of bars
  bool joined = false;   ///< belongs to the lane above: nested bars, or the same lane of another timeline
};

/// A quantity of a lane that changes in steps. A step is a time and the value from then on.
struct Counter {
  std::string name;  ///< "activation held"
  std::string unit;  ///< "bytes": values are bytes; empty: they are millionths of an unnamed unit
  std::size_t lane = 0;
  std::vector<std::pair<base::Ticks, base::Memory>> steps;  ///< in order of time
  std::optional<base::Memory> capacity = {};
};

/// A transfer from the end of one bar to the start of another, by bar numbers.
struct Arrow {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

/// Meaning of time 0 in a timeline.
enum class Beginning : std::uint8_t {
  fixed,    ///< start of a schedule
  repeats,  ///< arbitrary point of an iteration that repeats, so the end of the timeline joins its beginning
  unknown,  ///< start of a measurement, or of a simulation that does not repeat
};

struct Timeline {
  std::string title;
  std::string lane_noun = "lane";  ///< singular noun for a lane: "device"
  base::TimeUnit time_unit = base::TimeUnit::tick;
  base::Ticks end;  ///< no bar ends later
  Beginning beginning = Beginning::fixed;
  std::vector<Track> tracks;
  std::vector<std::string> names;       ///< names of bars, for traces
  std::vector<std::string> categories;  ///< categories of bars, for traces
  std::vector<Lane> lanes;
  std::vector<Bar> bars;  ///< lane by lane; a bar's number is its index
  std::vector<Arrow> arrows;
  std::vector<Counter> counters;   ///< those with the same name as the first are drawn, one per lane
  std::vector<std::string> notes;  ///< omissions and assumptions, one sentence each
};

/// Returns, for each lane, the number of its first bar; the last entry is the number of bars.
std::vector<std::size_t> first_bars(const Timeline& timeline);
/// Returns the lane of a bar. `first` is the result of first_bars.
std::size_t lane_of(const std::vector<std::size_t>& first, std::size_t bar);
/// Returns the bars of one lane, as a view of Timeline::bars.
std::span<const Bar> bars_of(const Timeline& timeline, std::size_t lane);
std::span<Bar> bars_of(Timeline& timeline, std::size_t lane);
/// Appends a lane to Timeline::lanes and its bars to Timeline::bars.
void add_lane(Timeline& timeline, std::string name, const std::vector<Bar>& bars, bool joined = false);

/// Returns, for each lane, the counter that is drawn, or null.
std::vector<const Counter*> drawn_counters(const Timeline& timeline);
/// Returns the time at which `counter` first reaches its maximum, and the maximum. Both are 0 if no value exceeds 0.
std::pair<base::Ticks, base::Memory> peak_of(const Counter& counter);
/// Converts a value of `counter` to its unit, for charts.
double amount_of(const Counter& counter, base::Memory value);

/// Time by BarKind.
using TimeByBarKind = std::array<base::Ticks, bar_kinds>;
/// Returns the total time of the bars of each kind. Time that a bar waits for launches counts as BarKind::launch, not
/// as the bar's own kind. The times of a lane without gaps add up to the end of the timeline. REQUIRES: the sum of all
/// times fits in 63 bits.
TimeByBarKind time_by_bar_kind(std::span<const Bar> bars);

/// Whether only the name of a bar is known, as in traces: BarKind::work or BarKind::idle.
bool is_known_by_name(const Bar& bar);
/// Returns the title of a bar: "F7 actor" for a pipeline op, "decode of actor_generate" for the work of a task,
/// "dependency" for idle time, its own name if nothing else is known.
std::string title_of(const Timeline& timeline, const Bar& bar);
/// Returns the title of the bar. For idle time that waits for a task, adds the task: "dependency on reward_infer".
std::string full_title(const Timeline& timeline, const Bar& bar);
/// Describes a pipeline op: "F7 of actor, stage 3".
std::string describe(const Timeline& timeline, const Bar& op);

/// Formats ascending device numbers as ranges: "0-7,16".
std::string device_ranges(const std::vector<int>& devices);

/// Names the lane of these devices: "device 3", "devices 0-7,16".
std::string device_lane_name(const std::vector<int>& devices);
/// Returns the devices that a lane is named after, ascending; nullopt for other names.
std::optional<std::vector<int>> devices_of(std::string_view name);

/// Names the lane of the links of these devices to host memory: "host link 3", "host links 0-7,16". is_host_link_lane
/// recognizes such names.
std::string host_link_lane_name(const std::vector<int>& devices);
bool is_host_link_lane(std::string_view name);

/// A timeline whose shortest bars are merged, because a page cannot hold them all.
struct Downsampled {
  Timeline timeline;
  base::Ticks shortest;  ///< maximum length of a merged bar; longer bars are unchanged. 0: no bars were merged
};

/// Merges short neighboring bars until at most `max_bars` are left, or until merged bars would be longer than 1/100 of
/// the timeline. A merged bar has the bar kind and the track that cover most of its time, and the total launch time of
/// the original bars with this kind and track. Its other members are unknown. Within each interval of length
/// Downsampled::shortest, a counter keeps only its maximum and its last value. REQUIRES: lanes have no gaps; no bar
/// awaits another or belongs to an arrow.
Downsampled downsampled(Timeline timeline, std::size_t max_bars);

}  // namespace dovetail::timeline
