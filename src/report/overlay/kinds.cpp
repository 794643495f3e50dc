#include "report/overlay/kinds.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace dovetail::report {
namespace {

using timeline::Bar;
using timeline::BarKind;
using timeline::Timeline;

/// The cause with the longest name that begins `title`.
std::optional<BarKind> cause_in(std::string_view title, const std::set<BarKind>& causes) {
  std::optional<BarKind> best;
  for (const BarKind cause : causes) {
    const std::string_view name = name_of(cause);
    const bool begins = title == name || (title.starts_with(name) && title[name.size()] == ' ');
    if (begins && (!best || name.size() > name_of(*best).size())) best = cause;
  }
  return best;
}

}  // namespace

Timeline with_kinds_of(Timeline named, const Timeline& known) {
  std::map<std::string, const Bar*> work;  // by title
  std::set<BarKind> causes;
  for (const Bar& bar : known.bars) {
    if (is_known_by_name(bar)) continue;
    if (is_idle(bar.bar_kind))
      causes.insert(bar.bar_kind);
    else
      work.try_emplace(title_of(known, bar), &bar);
  }
  named.tracks = known.tracks;
  for (Bar& bar : named.bars) {
    const std::string title = title_of(named, bar);
    if (bar.bar_kind == BarKind::idle) {
      bar.bar_kind = cause_in(title, causes).value_or(BarKind::idle);
    } else if (const auto found = work.find(title); bar.bar_kind == BarKind::work && found != work.end()) {
      // What is not in the title may differ.
      bar.bar_kind = found->second->bar_kind;
      bar.track = found->second->track;
      if (bar.track >= 0 && known.tracks[static_cast<std::size_t>(bar.track)].kind == timeline::Track::Kind::pipeline)
        bar.microbatch = found->second->microbatch;
    }
  }
  return named;
}

}  // namespace dovetail::report
