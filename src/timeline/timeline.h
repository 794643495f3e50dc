// Lanes with bars, counters and arrows: what schedules, simulations and measured runs become before they are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/quantity.h"
#include "pipeline/op_kind.h"

namespace dovetail::timeline {

/// What a bar shows: work, of the kinds of ops in their order, or idle time with its cause.
enum class BarKind : std::uint8_t {
  forward = static_cast<std::uint8_t>(pipeline::OpKind::F),
  backward = static_cast<std::uint8_t>(pipeline::OpKind::B),
  input_gradient = static_cast<std::uint8_t>(pipeline::OpKind::I),
  weight_gradient = static_cast<std::uint8_t>(pipeline::OpKind::W),
  step = static_cast<std::uint8_t>(pipeline::OpKind::S),
  warm_up = pipeline::op_kinds,  ///< idle before the device's first op
  dependency,                    ///< idle while a predecessor still runs elsewhere
  transfer,                      ///< idle while a predecessor's output travels
  delay,                         ///< idle although the next op could start: its order or its start time holds it back
  drain,                         ///< idle after the device's last op; all the time on a device without ops
};
inline constexpr int bar_kinds = static_cast<int>(BarKind::drain) + 1;

constexpr bool is_idle(BarKind kind) { return kind >= BarKind::warm_up; }
/// The bar of an op.
constexpr BarKind bar_kind_of(pipeline::OpKind kind) { return static_cast<BarKind>(kind); }
/// Of the ops that bars of that kind show. REQUIRES: not is_idle(kind).
constexpr const pipeline::OpTraits& traits_of(BarKind kind) { return pipeline::op_table[static_cast<std::size_t>(kind)]; }
/// "forward", "warm-up", ...
std::string_view name_of(BarKind kind);

/// A stretch of time on one lane.
struct Bar {
  base::Ticks start;
  base::Ticks end;
  BarKind kind = BarKind::forward;
  std::int32_t track = 0;       ///< work: index into Timeline::tracks (the pipeline); idle: -1
  std::int32_t microbatch = 0;  ///< work: micro-batch, or mini-batch of a step
  std::int32_t stage = 0;       ///< work: stage
  std::int32_t awaits = -1;     ///< idle: bar that the next op waits for on lane `awaits_lane`, or -1
  std::int32_t awaits_lane = -1;
};

/// A quantity that changes in steps: (time, value from then on), at most one step a time.
struct Counter {
  std::string name;
  std::vector<std::pair<base::Ticks, base::Memory>> steps;
};

/// The largest value of `counter` and the first time it has it; zeros where it has no steps.
std::pair<base::Ticks, base::Memory> peak_of(const Counter& counter);

/// A row of bars, in order of time, without gaps from 0 to the end: idle time has bars too.
struct Lane {
  std::string name;
  std::vector<Bar> bars;
  Counter memory;  ///< activation held
};

/// A transfer from the end of one bar to the start of another.
struct Arrow {
  std::int32_t from_lane = 0;
  std::int32_t from_bar = 0;
  std::int32_t to_lane = 0;
  std::int32_t to_bar = 0;
};

/// Who a bar belongs to: one pipeline.
struct Track {
  std::string name;
  std::int32_t model = 0;    ///< colours go by model,
  std::int32_t replica = 0;  ///< shades by replica
};

struct Timeline {
  std::string title;
  base::TimeUnit time_unit = base::TimeUnit::tick;
  base::Ticks end;
  std::string lane_noun = "lane";  ///< what a lane is, in the singular: "device"
  std::vector<Track> tracks;
  std::vector<Lane> lanes;
  std::vector<Arrow> arrows;
};

}  // namespace dovetail::timeline
