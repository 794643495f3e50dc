#include "report/page/fields.h"

#include <cstddef>

namespace dovetail::report {
namespace {

using timeline::Bar;
using timeline::Timeline;
using timeline::Track;

/// Whose a task's bar is. Pipelines stand in the titles of theirs.
std::int64_t task_of(const Timeline& timeline, const Bar& bar) {
  return bar.track >= 0 && timeline.tracks[static_cast<std::size_t>(bar.track)].kind == Track::Kind::task ? bar.track
                                                                                                          : -1;
}

std::int64_t category_of(const Timeline& timeline, const Bar& bar) {
  return bar.category >= 0 && !timeline.categories[static_cast<std::size_t>(bar.category)].empty() ? bar.category : -1;
}

std::vector<std::string> track_names(const Timeline& timeline) {
  std::vector<std::string> names;
  for (const Track& track : timeline.tracks) names.push_back(track.name);
  return names;
}

}  // namespace

const std::array<Field, 7>& bar_fields() {
  using enum Field::Kind;
  static constexpr std::array<Field, 7> fields{{
      {"task", text, task_of, track_names},
      {"sequences", number, [](const Timeline&, const Bar& bar) { return bar.sequences; }},
      {"micro-batch", number, [](const Timeline&, const Bar& bar) { return std::int64_t{bar.microbatch}; }},
      {"stage", number, [](const Timeline&, const Bar& bar) { return std::int64_t{bar.stage}; }},
      {"waits for launches", time,
       [](const Timeline&, const Bar& bar) { return bar.launch > base::Ticks() ? bar.launch.count() : -1; }},
      {"name", text, [](const Timeline&, const Bar& bar) { return std::int64_t{bar.name}; },
       [](const Timeline& timeline) { return timeline.names; }},
      {"category", text, category_of, [](const Timeline& timeline) { return timeline.categories; }},
  }};
  return fields;
}

}  // namespace dovetail::report
