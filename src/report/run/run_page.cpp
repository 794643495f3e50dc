#include "report/run/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "answer/words/figures.h"
#include "base/assert.h"
#include "records/figure_table.h"
#include "report/page/chart_sections.h"
#include "report/run/training_sections.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using records::FigureColumn;
using records::FigureTable;

constexpr std::size_t max_bars = 20'000;

std::string number_text(double value) { return fmt::format("{:.4g}", value); }

/// What a figure began and ended with: the mean of the first and of the last tenth of its numbers.
std::optional<std::pair<double, double>> ends_of(const FigureColumn* column) {
  if (column == nullptr) return std::nullopt;
  const std::vector<records::FigurePoint> points = records::numbers_of(*column);
  if (points.empty()) return std::nullopt;
  constexpr std::size_t part = 10;
  const std::size_t count = std::max<std::size_t>(1, points.size() / part);
  double first = 0;
  double last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    first += points[i].value / static_cast<double>(count);
    last += points[points.size() - 1 - i].value / static_cast<double>(count);
  }
  return std::pair(first, last);
}

void add_change(Page& page, std::string name, const FigureTable& table, std::string_view figure, std::string note) {
  if (const auto ends = ends_of(table.find(figure)))
    page.figures.push_back({std::move(name),
                            fmt::format("{} → {}", number_text(ends->first), number_text(ends->second)),
                            std::move(note)});
}

double sum_of(const FigureTable& table, std::string_view figure) {
  double sum = 0;
  if (const FigureColumn* const column = table.find(figure))
    for (const records::FigurePoint& point : records::numbers_of(*column)) sum += point.value;
  return sum;
}

void add_effort(Page& page, const FigureTable& metrics) {
  const double seconds = sum_of(metrics, "seconds");
  page.figures.push_back(
      {"iterations", fmt::format("{}", metrics.rows()),
       metrics.find("samples") == nullptr ? "" : fmt::format("{:.0f} responses", sum_of(metrics, "samples"))});
  page.figures.push_back(
      {"training took", answer::seconds_text(seconds),
       metrics.rows() == 0
           ? ""
           : fmt::format("{} an iteration", answer::seconds_text(seconds / static_cast<double>(metrics.rows())))});
}

void add_figures(Page& page, const RunFigures& figures) {
  const FigureTable& metrics = figures.metrics;
  const FigureTable& evaluations = figures.evaluations;
  add_change(page, "reward", metrics, "reward", "first and last tenth of the iterations");
  add_change(page, "held out", evaluations, "reward", "reward of the validation prompts");
  add_change(page, "divergence", metrics, "kl_token", "from the reference, nats a token");
  add_change(page, "right order, held out", evaluations, "accuracy", "share of the validation pairs");
  if (metrics.find("reward") == nullptr)
    add_change(page, "loss, held out", evaluations, "loss", "of the validation data");
  add_effort(page, metrics);
}

/// The tables that compare the run's times with the plan's prediction.
void add_measured(Page& page, const answer::MeasuredAnswer& measured) {
  DOVETAIL_ASSERT(measured.predicted.has_value());
  const answer::Sections sections = answer::sections(measured);
  for (const answer::Section& section : sections.all()) {
    if (!std::holds_alternative<answer::Table>(section)) continue;
    auto table = std::get<answer::Table>(section);
    table.title = "Measured and predicted";
    table.note = fmt::format("Median of {} iterations, beside what the plan predicts with the efficiencies {}.",
                             measured.run.steps.size(), measured.predicted->efficiency);
    page.sections.emplace_back(std::move(table));
  }
}

void add_timeline(Page& page, timeline::Timeline timeline) {
  if (timeline.bars.empty()) return;
  Breakdown breakdown = time_breakdown(timeline);
  breakdown.title = "Where the time went";
  timeline::Thinned thinned = timeline::thinned(std::move(timeline), max_bars);
  page.sections.emplace_back(Chart{"Timeline",
                                   "Iteration after iteration, and evaluations. Checkpoints and pauses are left out.",
                                   std::move(thinned.timeline)});
  page.sections.emplace_back(std::move(breakdown));
}

}  // namespace

Page run_page(const RunReport& report) {
  Page page;
  page.title = report.name;
  page.subtitle = report.subtitle;
  add_figures(page, report.figures);
  for (LineChart& chart : run_charts(report.figures)) page.sections.emplace_back(std::move(chart));
  add_timeline(page, records::run_timeline(report.figures.metrics, report.figures.evaluations));
  if (report.measured) add_measured(page, *report.measured);
  for (const records::TrainingPhase& phase : report.phases) add_training_phase(page, phase);
  return page;
}

}  // namespace dovetail::report
