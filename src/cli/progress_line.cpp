#include "cli/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "answer/words/figures.h"
#include "answer/words/text.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace dovetail::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds terminal_interval{100};
constexpr std::chrono::milliseconds plain_interval{5000};

/// Columns that the fields of the first rank take.
std::size_t min_width(const std::vector<ProgressField>& fields) {
  std::size_t width = 0;
  for (const ProgressField& field : fields) width += field.rank == 0 ? answer::count_code_points(field.text) : 0;
  return width;
}

}  // namespace

std::vector<ProgressField> progress_fields(const fuse::Progress& progress, base::Ticks bound, std::optional<base::Memory> peak_bound,
                                           base::TimeUnit unit) {
  std::vector<ProgressField> fields{
      {fmt::format("{}: ", progress.phase), 2},
      {"makespan " + base::format_time(progress.makespan, unit), 0},
      {fmt::format(" (bound {}, gap {})", base::format_time(bound, unit), answer::percent(answer::gap(progress.makespan, bound))), 0},
      {", peak " + base::format_memory(progress.peak_activation), 1}};
  if (peak_bound) fields.push_back({fmt::format(" (bound {})", base::format_memory(*peak_bound)), 3});
  if (progress.iterations_planned > 0) {
    const double share = static_cast<double>(progress.iterations) / static_cast<double>(progress.iterations_planned);
    fields.push_back({fmt::format(", {} done", answer::percent(share)), 4});
  }
  if (progress.iterations_per_second > 0)
    fields.push_back({fmt::format(", {} it/s", answer::short_number(progress.iterations_per_second)), 0});
  if (progress.seconds_left > 0 && std::isfinite(progress.seconds_left))
    fields.push_back({", " + answer::time_left(progress.seconds_left), 0});
  return fields;
}

std::string fit_fields(const std::vector<ProgressField>& fields, std::size_t room) {
  std::vector<std::size_t> order(fields.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&fields](std::size_t a, std::size_t b) { return fields[a].rank < fields[b].rank; });
  std::size_t width = 0;
  std::size_t shown = 0;
  for (; shown < order.size(); ++shown) {
    width += answer::count_code_points(fields[order[shown]].text);
    if (width > room) break;
  }
  order.resize(shown);
  std::sort(order.begin(), order.end());
  std::string line;
  for (const std::size_t field : order) line += fields[field].text;
  return line;
}

ProgressLine::ProgressLine(std::string label, base::Ticks bound, base::TimeUnit unit)
    : label_(std::move(label)), bound_(bound), unit_(unit), on_terminal_(stderr_is_terminal()) {
  next_ = on_terminal_ ? Clock::now() : Clock::now() + plain_interval;
}

ProgressLine::ProgressLine(std::string label, PlainLines plain) : ProgressLine(std::move(label), base::Ticks(0), base::TimeUnit::ns) {
  plain_ = plain;
}

ProgressLine::~ProgressLine() {
  if (visible_) rewrite_line("");
}

void ProgressLine::update(const fuse::Progress& progress) {
  iterations_per_second_ = progress.iterations_per_second;
  if (!is_due()) return;
  show(progress_fields(progress, bound_, peak_bound(progress.makespan), unit_));
}

void ProgressLine::update(const answer::Figures& figures) {
  if ((on_terminal_ || plain_ == PlainLines::every_few_seconds) && is_due()) show(figures());
}

void ProgressLine::update(std::vector<ProgressField> fields) {
  if (on_terminal_ && is_due()) show(std::move(fields));
}

/// Whether the last line is long enough ago; then this is the last one.
bool ProgressLine::is_due() {
  if (Clock::now() < next_) return false;
  next_ = Clock::now() + (on_terminal_ ? terminal_interval : plain_interval);
  return true;
}

void ProgressLine::show_peak_bound(const pipeline::Problem& problem) {
  // The bound of a larger problem takes a noticeable part of the search's own time.
  constexpr std::int64_t max_ops = 100'000;
  if (pipeline::count_ops(problem) <= max_ops) problem_ = &problem;
}

std::optional<base::Memory> ProgressLine::peak_bound(base::Ticks makespan) {
  if (problem_ == nullptr) return std::nullopt;
  if (!peak_bound_ || makespan != peak_bound_makespan_) peak_bound_ = fuse::peak_activation_bound(*problem_, makespan, {.work = 0});
  peak_bound_makespan_ = makespan;
  return peak_bound_;
}

void ProgressLine::update(std::string_view text) {
  if (on_terminal_) show({{std::string(text)}});
}

void ProgressLine::show(std::vector<ProgressField> fields) {
  fields.insert(fields.begin(), {label_ + ": "});
  if (!on_terminal_) {
    print_error(fit_fields(fields, std::string::npos) + "\n");
    return;
  }
  const auto room = static_cast<std::size_t>(stderr_columns() - 1);
  // A long name of a file must not take the room of the figures.
  if (min_width(fields) > room) fields.erase(fields.begin());
  rewrite_line(fit_fields(fields, room));
  std::fflush(stderr);
  visible_ = true;
}

}  // namespace dovetail::cli
