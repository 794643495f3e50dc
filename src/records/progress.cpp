#include "records/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace dovetail::records {
namespace {

constexpr std::string_view loss_end = "_loss";

/// Fields of the line in order of importance. The last ones are omitted first.
enum class Rank { iteration, phase, time, reward, divergence, loss, speed };

struct LineField {
  std::string text;
  Rank rank;
};
using LineFields = std::vector<LineField>;

void add_figure(LineFields& fields, const control::Figures& figures, std::string_view name, std::string_view label,
                Rank rank) {
  const control::Figure* const figure = control::find_figure(figures, name);
  if (figure != nullptr) fields.push_back({fmt::format("{} {:.4g}", label, figure->value), rank});
}

/// Adds the main figures of an iteration or an evaluation.
void add_figures(LineFields& fields, const control::Figures& figures) {
  add_figure(fields, figures, "reward", "reward", Rank::reward);
  add_figure(fields, figures, "reward_accuracy", "accuracy", Rank::reward);
  add_figure(fields, figures, "accuracy", "accuracy", Rank::reward);
  add_figure(fields, figures, "kl_token", "KL", Rank::divergence);
  add_figure(fields, figures, "loss", "loss", Rank::loss);
  for (const control::Figure& figure : figures) {
    if (!figure.name.ends_with(loss_end)) continue;
    const std::string_view role = std::string_view(figure.name).substr(0, figure.name.size() - loss_end.size());
    fields.push_back({fmt::format("{} loss {:.4g}", role, figure.value), Rank::loss});
  }
  add_figure(fields, figures, "actor_cross_entropy", "cross entropy", Rank::loss);
  add_figure(fields, figures, "perplexity", "perplexity", Rank::loss);
  if (const control::Figure* const speed = control::find_figure(figures, "tokens_per_second"))
    fields.push_back({fmt::format("{:.0f} tokens/s", speed->value), Rank::speed});
}

std::string time_text(double seconds) {
  constexpr double minute = 60;
  constexpr double hour = 3600;
  if (seconds < 2 * minute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.0f} min", seconds / minute);
  return fmt::format("{:.1f} h", seconds / hour);
}

std::string join(const LineFields& fields) {
  std::string line;
  for (const LineField& field : fields) line += (line.empty() ? "" : "  ") + field.text;
  return line;
}

/// Returns the line. If fields do not fit, omits them one by one: first those of the last rank, from the right.
std::string fit(LineFields fields, std::size_t columns) {
  std::string line = join(fields);
  while (!fields.empty() && line.size() > columns) {
    const auto last = std::max_element(fields.rbegin(), fields.rend(),
                                       [](const LineField& a, const LineField& b) { return a.rank < b.rank; });
    fields.erase(std::next(last).base());
    line = join(fields);
  }
  return line;
}

}  // namespace

std::string summary_of(const control::Figures& figures, std::int64_t iterations) {
  LineFields fields{{fmt::format("{:.0f}/{}", figures.front().value, iterations), Rank::iteration}};
  add_figures(fields, figures);
  if (const control::Figure* const seconds = control::find_figure(figures, "seconds"))
    fields.push_back({fmt::format("{:.1f} s", seconds->value), Rank::time});
  return join(fields);
}

std::string progress_of(const control::RunProgress& progress, const control::Figures& before, double seconds_left,
                        std::size_t columns) {
  // Work after the last iteration counts as part of it.
  const std::int64_t iteration = std::min(progress.iteration, progress.iterations);
  LineFields fields{{fmt::format("{}/{}", iteration, progress.iterations), Rank::iteration},
                    {fmt::format("{} {}/{}", progress.phase, progress.done, progress.total), Rank::phase}};
  add_figures(fields, before);
  if (seconds_left >= 0) fields.push_back({time_text(seconds_left) + " left", Rank::time});
  return fit(std::move(fields), columns);
}

}  // namespace dovetail::records
