#include "report/run/run_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "answer/runs/phase_table.h"
#include "answer/text/figures.h"
#include "answer/text/text.h"
#include "base/assert.h"
#include "pipeline/schedule/evaluate.h"
#include "records/metric_table.h"
#include "records/training_phases.h"
#include "report/overlay/overlay.h"
#include "report/page/chart_sections.h"
#include "report/page/page.h"
#include "report/page/palette.h"
#include "report/page/summary.h"
#include "timeline/schedule_timeline.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using records::MetricColumn;
using records::MetricPoint;

constexpr std::size_t max_points = 300;
constexpr std::size_t max_panels = 2;

struct LineSpec {
  std::string_view metric;
  std::string_view name;
  bool is_evaluation = false;
  std::string_view low = {};  ///< metrics at both ends of the band; empty: no band
  std::string_view high = {};
};

struct ChartSpec {
  std::string_view title;
  std::string_view note;
  std::string_view unit;
  std::vector<LineSpec> lines;
};

const std::vector<ChartSpec>& chart_specs() {
  static const std::vector<ChartSpec> specs{
      {"Reward",
       "Mean reward of an iteration's responses. Held out: validation prompts, by default with greedy decoding.",
       "",
       {{"reward", "sampled", false, "reward_quarter", "reward_three_quarters"}, {"reward", "held out", true}}},
      {"Divergence from the reference",
       "Estimated by k1 and k3. The penalty uses the estimator that the job sets.",
       "nats/token",
       {{"kl_token", "k1"}, {"kl_token_k3", "k3"}}},
      {"Reward accuracy",
       "Share of pairs in which the chosen response gets the higher reward.",
       "share",
       {{"reward_accuracy", "training"}, {"accuracy", "held out", true}}},
      {"Loss", "", "", {{"actor_loss", "actor"}, {"reward_loss", "reward"}, {"loss", "held out", true}}},
      {"Critic loss", "", "", {{"critic_loss", "critic"}}},
      {"Variance explained by the critic",
       "1 - (mean squared error / variance of returns). 1 is perfect; 0 means as good as predicting the mean.",
       "share",
       {{"critic_explained", "explained"}}},
      {"Policy entropy",
       "A fast drop means that the policy stops exploring.",
       "nats/token",
       {{"actor_entropy", "entropy"}}},
      {"Clipped tokens", "", "share", {{"actor_clipped", "clipped"}}},
      {"Gradient norm",
       "Mean over an iteration's optimizer steps, before clipping.",
       "",
       {{"actor_gradient_norm", "actor"}, {"critic_gradient_norm", "critic"}, {"reward_gradient_norm", "reward"}}},
      {"Learning rate",
       "",
       "",
       {{"actor_learning_rate", "actor"}, {"critic_learning_rate", "critic"}, {"reward_learning_rate", "reward"}}},
      {"Response length", "", "tokens", {{"response_length", "mean"}, {"response_length_max", "max"}}},
      {"Truncated responses and equal rewards",
       "Truncated: cut off at the length cap. Equal rewards: all responses to a prompt have the same reward, so GRPO "
       "learns nothing from them.",
       "share",
       {{"truncated", "truncated"}, {"equal_groups", "equal rewards"}}},
      {"Speed", "", "tokens/s", {{"tokens_per_second", "tokens"}}},
  };
  return specs;
}

/// A curve to draw.
struct Curve {
  LineSpec spec;
  std::vector<MetricPoint> points;
  std::int64_t rows_a_point = 1;
};

const MetricColumn* find(const RunTables& tables, const LineSpec& spec, std::string_view metric) {
  return (spec.is_evaluation ? tables.evaluations : tables.metrics).find(metric);
}

/// Averages neighbors so that at most max_points remain. Each point keeps the last iteration of its group.
std::vector<MetricPoint> downsampled_points(const std::vector<MetricPoint>& points, std::size_t each) {
  std::vector<MetricPoint> downsampled;
  for (std::size_t begin = 0; begin < points.size(); begin += each) {
    const std::size_t end = std::min(points.size(), begin + each);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += points[i].value;
    downsampled.push_back({points[end - 1].iteration, sum / static_cast<double>(end - begin)});
  }
  return downsampled;
}

std::vector<MetricPoint> numbers_of(const MetricColumn* column) {
  return column == nullptr ? std::vector<MetricPoint>() : records::numbers_of(*column);
}

bool is_all_zero(const std::vector<Curve>& curves) {
  return std::all_of(curves.begin(), curves.end(), [](const Curve& curve) {
    return std::all_of(curve.points.begin(), curve.points.end(),
                       [](const MetricPoint& point) { return point.value == 0; });
  });
}

std::size_t points_together(std::size_t points) { return (points + max_points - 1) / max_points; }

std::vector<Curve> curves_of(const RunTables& tables, const ChartSpec& chart) {
  std::vector<Curve> curves;
  for (const LineSpec& spec : chart.lines) {
    std::vector<MetricPoint> points = numbers_of(find(tables, spec, spec.metric));
    if (points.empty()) continue;
    const std::size_t each = points_together(points.size());
    curves.push_back({spec, downsampled_points(points, each), static_cast<std::int64_t>(each)});
  }
  if (is_all_zero(curves)) curves.clear();
  return curves;
}

LineChart chart_of(const ChartSpec& spec, const std::vector<Curve>& curves) {
  LineChart chart{std::string(spec.title), std::string(spec.note), "iteration", std::string(spec.unit), {}, {}};
  for (const Curve& curve : curves) {
    LineChart::Series series{std::string(curve.spec.name), plain_ink(chart.series.size()), {}};
    for (const MetricPoint& point : curve.points)
      series.points.emplace_back(static_cast<double>(point.iteration), point.value);
    chart.series.push_back(std::move(series));
    if (curve.rows_a_point > 1)
      chart.note +=
          fmt::format("{}Each point of \"{}\" is the mean of up to {} {}.", chart.note.empty() ? "" : " ",
                      curve.spec.name, curve.rows_a_point, curve.spec.is_evaluation ? "evaluations" : "iterations");
  }
  return chart;
}

/// Returns the iterations of all curves; round numbers are labeled.
std::vector<CurvePicture::Place> places_of(const std::vector<std::vector<Curve>>& panels) {
  std::map<std::int64_t, CurvePicture::Place> places;
  for (const std::vector<Curve>& curves : panels)
    for (const Curve& curve : curves)
      for (const MetricPoint& point : curve.points) places[point.iteration].x = static_cast<double>(point.iteration);
  constexpr double max_labels = 9;
  const std::int64_t step = round_step(static_cast<double>(places.rbegin()->first) / max_labels);
  std::vector<CurvePicture::Place> listed;
  std::int64_t steps = -1;
  for (auto& [iteration, place] : places) {
    // A point that averages several iterations may end at any iteration, so label the first point at or after each
    // round number.
    if (iteration / step > steps && (iteration == 0 || iteration >= step)) place.label = fmt::format("{}", iteration);
    steps = iteration / step;
    listed.push_back(place);
  }
  return listed;
}

/// [place] value at that iteration
std::vector<std::optional<double>> values_at(const std::vector<CurvePicture::Place>& places,
                                             const std::vector<MetricPoint>& points) {
  std::map<double, double> values;
  for (const MetricPoint& point : points) values[static_cast<double>(point.iteration)] = point.value;
  std::vector<std::optional<double>> listed(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    if (const auto value = values.find(places[i].x); value != values.end()) listed[i] = value->second;
  return listed;
}

CurvePicture::Line line_of(const RunTables& tables, const Curve& curve,
                           const std::vector<CurvePicture::Place>& places) {
  CurvePicture::Line line{std::string(curve.spec.name), values_at(places, curve.points)};
  line.is_bridged = true;
  if (curve.spec.low.empty()) return line;
  const auto each = static_cast<std::size_t>(curve.rows_a_point);
  const auto low = values_at(places, downsampled_points(numbers_of(find(tables, curve.spec, curve.spec.low)), each));
  const auto high = values_at(places, downsampled_points(numbers_of(find(tables, curve.spec, curve.spec.high)), each));
  for (std::size_t i = 0; i < places.size(); ++i)
    line.ranges.push_back(low[i] && high[i] ? std::optional(CurvePicture::Range{*low[i], *high[i]}) : std::nullopt);
  return line;
}

/// "Training phase actor_train + critic_train"; models are named after their tasks.
std::string heading(const records::TrainingPhase& phase) {
  std::string title = "Training phase";
  std::string_view between = " ";
  for (const pipeline::Model& model : phase.planned.problem.models) {
    title += between;
    title += model.name;
    between = " + ";
  }
  return title;
}

/// Adds the sections of a training phase: predicted and actual timelines compared, then durations and the time saved by
/// fusion.
void add_training_phase(Page& page, const records::TrainingPhase& phase) {
  const std::string title = heading(phase);
  timeline::Timeline planned =
      timeline::schedule_timeline(phase.planned.problem, pipeline::evaluate(phase.planned), title);
  planned.time_unit = phase.trace.time_unit;
  Page overlay = overlay_page({"predicted schedule", std::move(planned)}, {"last measured run", phase.trace}, title);
  Chart chart = std::get<Chart>(std::move(overlay.sections.front()));
  chart.title = title;
  page.sections.emplace_back(std::move(chart));
  Table table = answer::phase_table(phase);
  table.title = title + ", predicted and measured";
  table.note = "Measured op times are medians over the latest runs of the phase.";
  page.sections.emplace_back(std::move(table));
}

using records::MetricColumn;
using records::MetricTable;

constexpr std::size_t max_bars = 20'000;

std::string number_text(double value) { return fmt::format("{:.4g}", value); }

/// Returns the means of the first and of the last tenth of a metric's values.
std::optional<std::pair<double, double>> ends_of(const MetricColumn* column) {
  if (column == nullptr) return std::nullopt;
  const std::vector<records::MetricPoint> points = records::numbers_of(*column);
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

void add_change(Page& page, std::string name, const MetricTable& table, std::string_view metric, std::string note) {
  if (const auto ends = ends_of(table.find(metric)))
    page.figures.push_back({std::move(name),
                            fmt::format("{} → {}", number_text(ends->first), number_text(ends->second)),
                            std::move(note)});
}

double sum_of(const MetricTable& table, std::string_view metric) {
  double sum = 0;
  if (const MetricColumn* const column = table.find(metric))
    for (const records::MetricPoint& point : records::numbers_of(*column)) sum += point.value;
  return sum;
}

void add_effort(Page& page, const MetricTable& metrics) {
  const double seconds = sum_of(metrics, "seconds");
  page.figures.push_back(
      {"iterations", fmt::format("{}", metrics.rows()),
       metrics.find("samples") == nullptr ? "" : fmt::format("{:.0f} responses", sum_of(metrics, "samples"))});
  page.figures.push_back(
      {"training time", answer::seconds_text(seconds),
       metrics.rows() == 0
           ? ""
           : fmt::format("{} per iteration", answer::seconds_text(seconds / static_cast<double>(metrics.rows())))});
}

void add_figures(Page& page, const RunTables& tables) {
  const MetricTable& metrics = tables.metrics;
  const MetricTable& evaluations = tables.evaluations;
  add_change(page, "reward", metrics, "reward", "first tenth and last tenth of the iterations");
  add_change(page, "reward, held out", evaluations, "reward", "validation prompts");
  add_change(page, "divergence", metrics, "kl_token", "from the reference, nats/token");
  add_change(page, "reward accuracy, held out", evaluations, "accuracy", "share of validation pairs");
  if (metrics.find("reward") == nullptr) add_change(page, "loss, held out", evaluations, "loss", "validation data");
  add_effort(page, metrics);
}

/// Returns the text as shown in a table cell: line breaks and tabs as escapes, at most `max_excerpt` characters.
std::string excerpt(std::string_view text) {
  constexpr std::size_t max_excerpt = 400;
  std::string escaped;
  for (const char character : text.substr(0, 4 * max_excerpt)) {
    if (character == '\n') {
      escaped += "\\n";
    } else if (character == '\t') {
      escaped += "\\t";
    } else if (character == '\r') {
      escaped += "\\r";
    } else {
      escaped += character;
    }
  }
  return answer::shorten(answer::clean_text(escaped), max_excerpt, "…");
}

/// Adds the tables that compare measured and predicted times.
void add_measured(Page& page, const answer::MeasuredAnswer& measured) {
  DOVETAIL_ASSERT(measured.predicted.has_value());
  const answer::Sections sections = answer::sections(measured);
  for (const answer::Section& section : sections.all()) {
    if (!std::holds_alternative<answer::Table>(section)) continue;
    auto table = std::get<answer::Table>(section);
    table.title = "Measured and predicted";
    table.note = fmt::format("Median of {} iterations, and the plan's prediction with efficiencies {}.",
                             measured.run.steps.size(), measured.predicted->efficiency);
    page.sections.emplace_back(std::move(table));
  }
}

void add_timeline(Page& page, timeline::Timeline timeline) {
  if (timeline.bars.empty()) return;
  Breakdown breakdown = time_breakdown(timeline);
  breakdown.title = "Where the time went";
  timeline::Downsampled downsampled = timeline::downsampled(std::move(timeline), max_bars);
  page.sections.emplace_back(Chart{"Timeline", "All iterations and evaluations. Checkpoints and pauses are omitted.",
                                   std::move(downsampled.timeline)});
  page.sections.emplace_back(std::move(breakdown));
}

}  // namespace

std::vector<LineChart> run_charts(const RunTables& tables) {
  std::vector<LineChart> charts;
  for (const ChartSpec& spec : chart_specs())
    if (const std::vector<Curve> curves = curves_of(tables, spec); !curves.empty())
      charts.push_back(chart_of(spec, curves));
  return charts;
}

CurvePicture run_picture(const RunTables& tables, std::string title, std::string facts) {
  std::vector<const ChartSpec*> specs;
  std::vector<std::vector<Curve>> panels;
  for (const ChartSpec& spec : chart_specs()) {
    std::vector<Curve> curves = curves_of(tables, spec);
    if (curves.empty() || panels.size() == max_panels) continue;
    specs.push_back(&spec);
    panels.push_back(std::move(curves));
  }
  DOVETAIL_ASSERT(!panels.empty());
  CurvePicture picture;
  picture.title = std::move(title);
  picture.facts = std::move(facts);
  picture.x_name = "iteration";
  picture.places = places_of(panels);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::string_view unit = specs[i]->unit;
    CurvePicture::Panel panel{fmt::format("{}{}{}", specs[i]->title, unit.empty() ? "" : ", ", unit), {}};
    panel.is_linear = true;
    for (const Curve& curve : panels[i]) panel.lines.push_back(line_of(tables, curve, picture.places));
    picture.panels.push_back(std::move(panel));
  }
  return picture;
}

Table sample_table(const std::vector<records::SampleRow>& samples) {
  constexpr std::size_t each = 4;  // number of the best and of the worst samples
  DOVETAIL_ASSERT(!samples.empty());
  std::vector<const records::SampleRow*> order;
  for (const records::SampleRow& sample : samples) order.push_back(&sample);
  // NaN has no order, so it counts as the lowest reward.
  const auto reward = [](const records::SampleRow* sample) {
    return std::isnan(sample->reward) ? -std::numeric_limits<double>::infinity() : sample->reward;
  };
  std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) { return reward(a) > reward(b); });
  if (order.size() > 2 * each) order.erase(order.begin() + each, order.end() - static_cast<std::ptrdiff_t>(each));
  Table table;
  table.title = fmt::format("Samples of iteration {}", samples.front().iteration);
  table.note = order.size() == samples.size()
                   ? "All responses of the iteration, highest reward first."
                   : fmt::format("The {0} responses with the highest rewards and the {0} with the lowest, out of {1}.",
                                 each, samples.size());
  table.note += " Long texts are cut; samples.jsonl has the complete texts.";
  table.columns = {{"reward"}, {"prompt", Align::left}, {"response", Align::left}, {"tokens"}, {"end", Align::left}};
  for (const records::SampleRow* sample : order)
    table.rows.push_back({number_text(sample->reward), excerpt(sample->prompt), excerpt(sample->response),
                          fmt::format("{}", sample->tokens), sample->ended ? "by itself" : "cut off at the cap"});
  return table;
}

Page run_page(const RunReport& report) {
  Page page;
  page.title = report.name;
  page.subtitle = report.subtitle;
  add_figures(page, report.tables);
  for (LineChart& chart : run_charts(report.tables)) page.sections.emplace_back(std::move(chart));
  // Curves are drawn in two columns. The samples follow a full row.
  constexpr std::size_t first_charts = 2;
  if (!report.samples.empty())
    page.sections.insert(
        page.sections.begin() + static_cast<std::ptrdiff_t>(std::min(first_charts, page.sections.size())),
        sample_table(report.samples));
  add_timeline(page, records::run_timeline(report.tables.metrics, report.tables.evaluations));
  if (report.measured) add_measured(page, *report.measured);
  for (const records::TrainingPhase& phase : report.phases) add_training_phase(page, phase);
  return page;
}

}  // namespace dovetail::report
