#include "records/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace dovetail::records {
namespace {

constexpr std::string_view loss_end = "_loss";

/// What goes first where there is too little room comes last here.
enum class Rank { iteration, phase, time, reward, divergence, loss, speed };

struct LinePart {
  std::string text;
  Rank rank;
};
using LineParts = std::vector<LinePart>;

void add_figure(LineParts& parts, const control::Figures& figures, std::string_view name, std::string_view words,
                Rank rank) {
  const control::Figure* const figure = control::find_figure(figures, name);
  if (figure != nullptr) parts.push_back({fmt::format("{} {:.4g}", words, figure->value), rank});
}

/// What one wants to know of an iteration or an evaluation.
void add_figures(LineParts& parts, const control::Figures& figures) {
  add_figure(parts, figures, "reward", "reward", Rank::reward);
  add_figure(parts, figures, "reward_accuracy", "accuracy", Rank::reward);
  add_figure(parts, figures, "accuracy", "accuracy", Rank::reward);
  add_figure(parts, figures, "kl_token", "KL", Rank::divergence);
  add_figure(parts, figures, "loss", "loss", Rank::loss);
  for (const control::Figure& figure : figures) {
    if (!figure.name.ends_with(loss_end)) continue;
    const std::string_view role = std::string_view(figure.name).substr(0, figure.name.size() - loss_end.size());
    parts.push_back({fmt::format("{} loss {:.4g}", role, figure.value), Rank::loss});
  }
  add_figure(parts, figures, "actor_cross_entropy", "cross entropy", Rank::loss);
  add_figure(parts, figures, "perplexity", "perplexity", Rank::loss);
  if (const control::Figure* const speed = control::find_figure(figures, "tokens_per_second"))
    parts.push_back({fmt::format("{:.0f} tokens/s", speed->value), Rank::speed});
}

std::string time_text(double seconds) {
  constexpr double minute = 60;
  constexpr double hour = 3600;
  if (seconds < 2 * minute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.0f} min", seconds / minute);
  return fmt::format("{:.1f} h", seconds / hour);
}

std::string join(const LineParts& parts) {
  std::string line;
  for (const LinePart& part : parts) line += (line.empty() ? "" : "  ") + part.text;
  return line;
}

/// The line without what has no room: the rightmost part of the last rank goes first.
std::string fit(LineParts parts, std::size_t columns) {
  std::string line = join(parts);
  while (!parts.empty() && line.size() > columns) {
    const auto last = std::max_element(parts.rbegin(), parts.rend(),
                                       [](const LinePart& a, const LinePart& b) { return a.rank < b.rank; });
    parts.erase(std::next(last).base());
    line = join(parts);
  }
  return line;
}

}  // namespace

std::string summary_of(const control::Figures& figures, std::int64_t iterations) {
  LineParts parts{{fmt::format("{:.0f}/{}", figures.front().value, iterations), Rank::iteration}};
  add_figures(parts, figures);
  if (const control::Figure* const seconds = control::find_figure(figures, "seconds"))
    parts.push_back({fmt::format("{:.1f} s", seconds->value), Rank::time});
  return join(parts);
}

std::string progress_of(const control::RunProgress& progress, const control::Figures& before, double seconds_left,
                        std::size_t columns) {
  // What comes behind the last iteration is of it.
  const std::int64_t iteration = std::min(progress.iteration, progress.iterations);
  LineParts parts{{fmt::format("{}/{}", iteration, progress.iterations), Rank::iteration},
                  {fmt::format("{} {}/{}", progress.phase, progress.done, progress.total), Rank::phase}};
  add_figures(parts, before);
  if (seconds_left >= 0) parts.push_back({time_text(seconds_left) + " left", Rank::time});
  return fit(std::move(parts), columns);
}

}  // namespace dovetail::records
