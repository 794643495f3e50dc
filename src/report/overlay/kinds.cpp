#include "report/overlay/kinds.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace dovetail::report {
namespace {

using timeline::Activity;
using timeline::Bar;
using timeline::Timeline;

/// The cause with the longest name that begins `title`.
std::optional<Activity> cause_in(std::string_view title, const std::set<Activity>& causes) {
  std::optional<Activity> best;
  for (const Activity cause : causes) {
    const std::string_view name = name_of(cause);
    const bool begins = title == name || (title.starts_with(name) && title[name.size()] == ' ');
    if (begins && (!best || name.size() > name_of(*best).size())) best = cause;
  }
  return best;
}

}  // namespace

Timeline with_kinds_of(Timeline named, const Timeline& known) {
  std::map<std::string, const Bar*> work;  // by title
  std::set<Activity> causes;
  for (const Bar& bar : known.bars) {
    if (is_known_by_name(bar)) continue;
    if (is_idle(bar.activity))
      causes.insert(bar.activity);
    else
      work.try_emplace(title_of(known, bar), &bar);
  }
  named.tracks = known.tracks;
  for (Bar& bar : named.bars) {
    const std::string title = title_of(named, bar);
    if (bar.activity == Activity::idle) {
      bar.activity = cause_in(title, causes).value_or(Activity::idle);
    } else if (const auto found = work.find(title); bar.activity == Activity::work && found != work.end()) {
      // What is not in the title may differ.
      bar.activity = found->second->activity;
      bar.track = found->second->track;
      if (bar.track >= 0 && known.tracks[static_cast<std::size_t>(bar.track)].kind == timeline::Track::Kind::pipeline)
        bar.microbatch = found->second->microbatch;
    }
  }
  return named;
}

}  // namespace dovetail::report
