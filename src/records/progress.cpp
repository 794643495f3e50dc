#include "records/progress.h"

#include <fmt/format.h>

#include <string_view>

namespace dovetail::records {
namespace {

void add_figure(std::string& line, const control::Figures& figures, std::string_view name, std::string_view words) {
  const control::Figure* const figure = control::find_figure(figures, name);
  if (figure != nullptr) line += fmt::format("  {} {:.4g}", words, figure->value);
}

/// What one wants to know of an iteration.
std::string figures_text(const control::Figures& figures) {
  std::string line;
  add_figure(line, figures, "reward", "reward");
  add_figure(line, figures, "kl_token", "KL");
  add_figure(line, figures, "reward_accuracy", "accuracy");
  add_figure(line, figures, "actor_cross_entropy", "cross entropy");
  for (const control::Figure& figure : figures)
    if (figure.name.ends_with("_loss"))
      line += fmt::format("  {} loss {:.4g}", figure.name.substr(0, figure.name.size() - 5), figure.value);
  if (const control::Figure* const speed = control::find_figure(figures, "tokens_per_second"))
    line += fmt::format("  {:.0f} tokens/s", speed->value);
  return line;
}

std::string time_text(double seconds) {
  constexpr double minute = 60;
  constexpr double hour = 3600;
  if (seconds < 2 * minute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.0f} min", seconds / minute);
  return fmt::format("{:.1f} h", seconds / hour);
}

}  // namespace

std::string summary_of(const control::Figures& figures, std::int64_t iterations) {
  std::string line = fmt::format("{:.0f}/{}{}", figures.front().value, iterations, figures_text(figures));
  if (const control::Figure* const seconds = control::find_figure(figures, "seconds"))
    line += fmt::format("  {:.1f} s", seconds->value);
  return line;
}

std::string progress_of(const control::RunProgress& progress, const control::Figures& before, double seconds_left) {
  std::string line = fmt::format("{}/{} {} {}/{}{}", progress.iteration, progress.iterations, progress.phase,
                                 progress.done, progress.total, figures_text(before));
  if (seconds_left >= 0) line += fmt::format("  {} left", time_text(seconds_left));
  return line;
}

}  // namespace dovetail::records
