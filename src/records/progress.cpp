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

void add_metric(LineFields& fields, const control::Metrics& metrics, std::string_view name, std::string_view label,
                Rank rank) {
  const control::Metric* const metric = control::find_metric(metrics, name);
  if (metric != nullptr) fields.push_back({fmt::format("{} {:.4g}", label, metric->value), rank});
}

/// Adds the main metrics of an iteration or an evaluation.
void add_metrics(LineFields& fields, const control::Metrics& metrics) {
  add_metric(fields, metrics, "reward", "reward", Rank::reward);
  add_metric(fields, metrics, "reward_accuracy", "accuracy", Rank::reward);
  add_metric(fields, metrics, "accuracy", "accuracy", Rank::reward);
  add_metric(fields, metrics, "kl_token", "KL", Rank::divergence);
  add_metric(fields, metrics, "loss", "loss", Rank::loss);
  for (const control::Metric& metric : metrics) {
    if (!metric.name.ends_with(loss_end)) continue;
    const std::string_view role = std::string_view(metric.name).substr(0, metric.name.size() - loss_end.size());
    fields.push_back({fmt::format("{} loss {:.4g}", role, metric.value), Rank::loss});
  }
  add_metric(fields, metrics, "actor_cross_entropy", "cross entropy", Rank::loss);
  add_metric(fields, metrics, "perplexity", "perplexity", Rank::loss);
  if (const control::Metric* const speed = control::find_metric(metrics, "tokens_per_second"))
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

std::string summary_of(const control::Metrics& metrics, std::int64_t iterations) {
  LineFields fields{{fmt::format("{:.0f}/{}", metrics.front().value, iterations), Rank::iteration}};
  add_metrics(fields, metrics);
  if (const control::Metric* const seconds = control::find_metric(metrics, "seconds"))
    fields.push_back({fmt::format("{:.1f} s", seconds->value), Rank::time});
  return join(fields);
}

std::string progress_of(const control::RunProgress& progress, const control::Metrics& before, double seconds_left,
                        std::size_t columns) {
  // Work after the last iteration counts as part of it.
  const std::int64_t iteration = std::min(progress.iteration, progress.iterations);
  LineFields fields{{fmt::format("{}/{}", iteration, progress.iterations), Rank::iteration},
                    {fmt::format("{} {}/{}", progress.phase, progress.done, progress.total), Rank::phase}};
  add_metrics(fields, before);
  if (seconds_left >= 0) fields.push_back({time_text(seconds_left) + " left", Rank::time});
  return fit(std::move(fields), columns);
}

}  // namespace dovetail::records
