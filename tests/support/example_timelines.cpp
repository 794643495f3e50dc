#include "support/example_timelines.h"

namespace dovetail::test {
namespace {

using base::Memory;
using base::Ticks;
using timeline::Bar;
using timeline::BarKind;

Bar work(int start, int end, BarKind bar_kind, int track, int microbatch, int stage) {
  Bar bar;
  bar.begin = Ticks(start);
  bar.end = Ticks(end);
  bar.bar_kind = bar_kind;
  bar.track = track;
  bar.microbatch = microbatch;
  bar.stage = stage;
  return bar;
}

Bar idle(int start, int end, BarKind cause, int awaits) {
  Bar bar = work(start, end, cause, -1, -1, -1);
  bar.awaits = awaits;
  return bar;
}

}  // namespace

timeline::Timeline small_timeline() {
  timeline::Timeline timeline;
  timeline.lane_noun = "device";
  timeline.title = "small";
  timeline.end = Ticks(10);
  timeline.tracks = {{"actor", 0, 0}, {"critic", 1, 0}};
  add_lane(timeline, "device 0",
           {work(0, 2, BarKind::forward, 0, 7, 0), idle(2, 6, BarKind::dependency, 6), idle(6, 7, BarKind::transfer, 6),
            work(7, 10, BarKind::backward, 0, 7, 0)});
  add_lane(
      timeline, "device 1",
      {idle(0, 2, BarKind::warm_up, 0), work(2, 4, BarKind::forward, 0, 7, 1), work(4, 6, BarKind::backward, 0, 7, 1),
       work(6, 7, BarKind::forward, 1, 3, 0), work(7, 9, BarKind::backward, 1, 3, 0), idle(9, 10, BarKind::drain, -1)});
  timeline.counters = {
      {"activation held", "", 0, {{Ticks(0), Memory(1'640'000)}, {Ticks(10), Memory(0)}}},
      {"activation held",
       "",
       1,
       {{Ticks(0), Memory(0)}, {Ticks(2), Memory(1'640'000)}, {Ticks(6), Memory(2'500'000)}, {Ticks(9), Memory(0)}}}};
  timeline.arrows = {{0, 5}, {6, 3}};
  return timeline;
}

timeline::Timeline hostile_timeline() {
  timeline::Timeline timeline = small_timeline();
  timeline.title = "<script>alert('x')</script> & \"more\" \x1b[31mred \xff\xfe \xC2\x9B";
  timeline.tracks[0].name = "</text><a&b>\"'\\\n\x1b[2J";
  timeline.tracks[1].name = "r\xC3\xA9ward \xE2\x82\xAC]]>";
  timeline.lanes[0].name = "device <0>\t\\\"";
  return timeline;
}

timeline::Timeline large_timeline(std::size_t lanes, std::size_t bars) {
  timeline::Timeline timeline;
  timeline.lane_noun = "device";
  timeline.title = "large";
  timeline.tracks = {{"actor", 0, 0}, {"critic/0", 1, 0}, {"critic/1", 1, 1}};
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    std::vector<Bar> row;
    timeline::Counter held{"activation held", "", lane, {}};
    int now = 0;
    for (std::size_t i = 0; i < bars; ++i) {
      const bool backward = i % 2 == 1;
      const int length = backward ? 4 : 2;
      const auto track = static_cast<int>((i / 2 + lane) % 3);
      row.push_back(
          work(now, now + length, backward ? BarKind::backward : BarKind::forward, track, static_cast<int>(i / 2), 0));
      held.steps.emplace_back(Ticks(now), Memory(backward ? 1'000'000 : 2'000'000));
      now += length;
      if (i % 3 == 0) row.push_back(idle(now, now + 1, BarKind::dependency, -1));
      if (i % 3 == 0) ++now;
    }
    held.steps.emplace_back(Ticks(now), Memory(0));
    timeline.end = Ticks(now);
    add_lane(timeline, "device " + std::to_string(lane), row);
    timeline.counters.push_back(held);
  }
  return timeline;
}

}  // namespace dovetail::test
