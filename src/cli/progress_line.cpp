#include "cli/progress_line.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "cli/output.h"
#include "cli/terminal.h"
#include "report/text.h"

namespace dovetail::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds terminal_interval{100};
constexpr std::chrono::milliseconds plain_interval{5000};

/// "950", "12.3k", "4.6M": a speed, to three digits.
std::string short_number(double value) {
  if (value < 1e3) return fmt::format("{:.0f}", value);
  if (value < 1e6) return fmt::format("{:.3g}k", value / 1e3);
  return fmt::format("{:.3g}M", value / 1e6);
}

std::string time_left(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  return whole < 60 ? fmt::format("{} s left", whole) : fmt::format("{}:{:02} min left", whole / 60, whole % 60);
}

/// The figures, each with what stands before it.
std::vector<std::string> figures(const fuse::Progress& progress, base::Ticks bound, std::optional<base::Memory> peak_bound,
                                 base::TimeUnit unit) {
  std::vector<std::string> fields{
      fmt::format("{}: makespan {}", progress.phase, base::format_time(progress.makespan, unit)),
      fmt::format(" (bound {}, gap {})", base::format_time(bound, unit), percent(gap(progress.makespan, bound))),
      ", peak " + base::format_memory(progress.peak_activation)};
  if (peak_bound) fields.push_back(fmt::format(" (bound {})", base::format_memory(*peak_bound)));
  if (progress.iterations_planned > 0) {
    const double share = static_cast<double>(progress.iterations) / static_cast<double>(progress.iterations_planned);
    fields.push_back(fmt::format(", {} done", percent(share)));
  }
  if (progress.iterations_per_second > 0) {
    fields.push_back(fmt::format(", {} iterations/s", short_number(progress.iterations_per_second)));
  }
  if (progress.seconds_left > 0 && std::isfinite(progress.seconds_left)) fields.push_back(", " + time_left(progress.seconds_left));
  return fields;
}

}  // namespace

std::string fit_fields(const std::vector<std::string>& fields, std::size_t room) {
  std::string line;
  std::size_t width = 0;
  for (const std::string& field : fields) {
    width += report::count_code_points(field);
    if (width > room) break;
    line += field;
  }
  return line;
}

ProgressLine::ProgressLine(std::string label, base::Ticks bound, base::TimeUnit unit)
    : label_(std::move(label)), bound_(bound), unit_(unit), on_terminal_(stderr_is_terminal()) {
  next_ = on_terminal_ ? Clock::now() : Clock::now() + plain_interval;
}

ProgressLine::~ProgressLine() {
  if (visible_) print_error("\r\033[K");
}

void ProgressLine::update(const fuse::Progress& progress) {
  iterations_per_second_ = progress.iterations_per_second;
  if (Clock::now() < next_) return;
  next_ = Clock::now() + (on_terminal_ ? terminal_interval : plain_interval);
  show(figures(progress, bound_, peak_bound(progress.makespan), unit_));
}

void ProgressLine::show_peak_bound(const pipeline::Problem& problem) {
  // The bound of a larger problem takes a noticeable part of the search's own time.
  constexpr std::int64_t most_ops = 100'000;
  if (pipeline::count_ops(problem) <= most_ops) problem_ = &problem;
}

std::optional<base::Memory> ProgressLine::peak_bound(base::Ticks makespan) {
  if (problem_ == nullptr) return std::nullopt;
  if (!peak_bound_ || makespan != peak_bound_makespan_) peak_bound_ = fuse::peak_activation_bound(*problem_, makespan, {.work = 0});
  peak_bound_makespan_ = makespan;
  return peak_bound_;
}

void ProgressLine::update(std::string_view text) {
  if (on_terminal_) show({std::string(text)});
}

void ProgressLine::show(std::vector<std::string> fields) {
  if (!on_terminal_) {
    print_error(fmt::format("{}: {}\n", label_, fmt::join(fields, "")));
    return;
  }
  const auto room = static_cast<std::size_t>(stderr_columns() - 1);
  const std::string label = label_ + ": ";
  // A long name of a file must not take the room of the figures.
  if (report::count_code_points(label + fields.front()) <= room) fields.front().insert(0, label);
  print_error(fmt::format("\r{}\033[K", fit_fields(fields, room)));
  std::fflush(stderr);
  visible_ = true;
}

}  // namespace dovetail::cli
