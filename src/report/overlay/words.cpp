#include "report/overlay/words.h"

#include <fmt/format.h>

#include "answer/words/figures.h"
#include "report/page/chart_sections.h"

namespace dovetail::report {

using base::Ticks;
using base::TimeUnit;

std::string brief_time(Ticks time, TimeUnit unit) {
  return unit == TimeUnit::ns ? answer::seconds_text(base::seconds_of_ticks(time)) : time_text(time, unit);
}

std::string signed_time(Ticks change, TimeUnit unit) {
  if (change < Ticks()) return "-" + brief_time(Ticks() - change, unit);
  return change == Ticks() ? brief_time(change, unit) : "+" + brief_time(change, unit);
}

std::string change_text(Ticks from, Ticks to, TimeUnit unit) {
  std::string change = signed_time(to - from, unit);
  if (from == Ticks() || to == from) return change;
  return fmt::format("{} ({:+.1f}%)", change,
                     100 * (static_cast<double>(to.count()) / static_cast<double>(from.count()) - 1));
}

}  // namespace dovetail::report
