#include "report/run/run_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "report/page/inks.h"
#include "report/page/summary.h"

namespace dovetail::report {
namespace {

using records::FigureColumn;
using records::FigurePoint;

constexpr std::size_t max_points = 300;
constexpr std::size_t max_panels = 2;

struct LineSpec {
  std::string_view figure;
  std::string_view name;
  bool is_evaluation = false;
  std::string_view low = {};  ///< figures that its shade lies between; empty: it has none
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
       "Mean of an iteration's responses. Held out: of the validation prompts, by default with the likeliest token "
       "each time.",
       "",
       {{"reward", "sampled", false, "reward_quarter", "reward_three_quarters"}, {"reward", "held out", true}}},
      {"Divergence from the reference",
       "By the estimators k1 and k3: what the penalty on it is computed from.",
       "nats a token",
       {{"kl_token", "k1"}, {"kl_token_k3", "k3"}}},
      {"Pairs in the right order",
       "The share in which the chosen response gets the higher reward.",
       "share",
       {{"reward_accuracy", "trained on"}, {"accuracy", "held out", true}}},
      {"Loss", "", "", {{"actor_loss", "actor"}, {"reward_loss", "reward"}, {"loss", "held out", true}}},
      {"Loss of the critic", "", "", {{"critic_loss", "critic"}}},
      {"Returns explained by the critic",
       "One minus the mean squared error over the variance: 1 is all, 0 no more than their mean does.",
       "share",
       {{"critic_explained", "explained"}}},
      {"Entropy of the policy",
       "Where it falls fast, the policy stops exploring.",
       "nats a token",
       {{"actor_entropy", "entropy"}}},
      {"Tokens beyond the clip", "", "share", {{"actor_clipped", "clipped"}}},
      {"Norm of the gradients",
       "Before clipping, the mean of an iteration's steps.",
       "",
       {{"actor_gradient_norm", "actor"}, {"critic_gradient_norm", "critic"}, {"reward_gradient_norm", "reward"}}},
      {"Learning rate",
       "",
       "",
       {{"actor_learning_rate", "actor"}, {"critic_learning_rate", "critic"}, {"reward_learning_rate", "reward"}}},
      {"Length of responses", "", "tokens", {{"response_length", "mean"}, {"response_length_max", "the longest"}}},
      {"Responses that teach nothing",
       "Cut off at the cap; of prompts whose responses all have one reward GRPO learns nothing.",
       "share",
       {{"truncated", "cut off"}, {"equal_groups", "equal rewards"}}},
      {"Speed", "", "tokens/s", {{"tokens_per_second", "tokens"}}},
  };
  return specs;
}

/// A figure that is drawn.
struct Curve {
  LineSpec spec;
  std::vector<FigurePoint> points;
  std::int64_t rows_a_point = 1;
};

const FigureColumn* find(const RunFigures& figures, const LineSpec& spec, std::string_view figure) {
  return (spec.is_evaluation ? figures.evaluations : figures.metrics).find(figure);
}

/// Means of neighbours, so that no more than max_points are left; the last iteration of each stands for it.
std::vector<FigurePoint> thinned_points(const std::vector<FigurePoint>& points, std::size_t each) {
  std::vector<FigurePoint> thinned;
  for (std::size_t begin = 0; begin < points.size(); begin += each) {
    const std::size_t end = std::min(points.size(), begin + each);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += points[i].value;
    thinned.push_back({points[end - 1].iteration, sum / static_cast<double>(end - begin)});
  }
  return thinned;
}

std::vector<FigurePoint> numbers_of(const FigureColumn* column) {
  return column == nullptr ? std::vector<FigurePoint>() : records::numbers_of(*column);
}

bool is_all_zero(const std::vector<Curve>& curves) {
  return std::all_of(curves.begin(), curves.end(), [](const Curve& curve) {
    return std::all_of(curve.points.begin(), curve.points.end(),
                       [](const FigurePoint& point) { return point.value == 0; });
  });
}

std::size_t points_together(std::size_t points) { return (points + max_points - 1) / max_points; }

std::vector<Curve> curves_of(const RunFigures& figures, const ChartSpec& chart) {
  std::vector<Curve> curves;
  for (const LineSpec& spec : chart.lines) {
    std::vector<FigurePoint> points = numbers_of(find(figures, spec, spec.figure));
    if (points.empty()) continue;
    const std::size_t each = points_together(points.size());
    curves.push_back({spec, thinned_points(points, each), static_cast<std::int64_t>(each)});
  }
  if (is_all_zero(curves)) curves.clear();
  return curves;
}

LineChart chart_of(const ChartSpec& spec, const std::vector<Curve>& curves) {
  LineChart chart{std::string(spec.title), std::string(spec.note), "iteration", std::string(spec.unit), {}, {}};
  for (const Curve& curve : curves) {
    LineChart::Series series{std::string(curve.spec.name), plain_ink(chart.series.size()), {}};
    for (const FigurePoint& point : curve.points)
      series.points.emplace_back(static_cast<double>(point.iteration), point.value);
    chart.series.push_back(std::move(series));
    if (curve.rows_a_point > 1)
      chart.note +=
          fmt::format("{}A point of \"{}\" is the mean of {} {}.", chart.note.empty() ? "" : " ", curve.spec.name,
                      curve.rows_a_point, curve.spec.is_evaluation ? "evaluations" : "iterations");
  }
  return chart;
}

/// The iterations of all curves, those of round numbers labelled.
std::vector<CurvePicture::Place> places_of(const std::vector<std::vector<Curve>>& panels) {
  std::map<std::int64_t, CurvePicture::Place> places;
  for (const std::vector<Curve>& curves : panels)
    for (const Curve& curve : curves)
      for (const FigurePoint& point : curve.points) places[point.iteration].x = static_cast<double>(point.iteration);
  constexpr double max_labels = 9;
  const std::int64_t step = round_step(static_cast<double>(places.rbegin()->first) / max_labels);
  std::vector<CurvePicture::Place> listed;
  std::int64_t steps = -1;
  for (auto& [iteration, place] : places) {
    // A point that stands for several iterations ends at any number: the first one beyond a round number is named.
    if (iteration / step > steps && (iteration == 0 || iteration >= step)) place.label = fmt::format("{}", iteration);
    steps = iteration / step;
    listed.push_back(place);
  }
  return listed;
}

/// [place] the value there.
std::vector<std::optional<double>> values_at(const std::vector<CurvePicture::Place>& places,
                                             const std::vector<FigurePoint>& points) {
  std::map<double, double> values;
  for (const FigurePoint& point : points) values[static_cast<double>(point.iteration)] = point.value;
  std::vector<std::optional<double>> listed(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    if (const auto value = values.find(places[i].x); value != values.end()) listed[i] = value->second;
  return listed;
}

CurvePicture::Line line_of(const RunFigures& figures, const Curve& curve,
                           const std::vector<CurvePicture::Place>& places) {
  CurvePicture::Line line{std::string(curve.spec.name), values_at(places, curve.points)};
  line.is_bridged = true;
  if (curve.spec.low.empty()) return line;
  const auto each = static_cast<std::size_t>(curve.rows_a_point);
  const auto low = values_at(places, thinned_points(numbers_of(find(figures, curve.spec, curve.spec.low)), each));
  const auto high = values_at(places, thinned_points(numbers_of(find(figures, curve.spec, curve.spec.high)), each));
  for (std::size_t i = 0; i < places.size(); ++i)
    line.ranges.push_back(low[i] && high[i] ? std::optional(CurvePicture::Range{*low[i], *high[i]}) : std::nullopt);
  return line;
}

}  // namespace

std::vector<LineChart> run_charts(const RunFigures& figures) {
  std::vector<LineChart> charts;
  for (const ChartSpec& spec : chart_specs())
    if (const std::vector<Curve> curves = curves_of(figures, spec); !curves.empty())
      charts.push_back(chart_of(spec, curves));
  return charts;
}

CurvePicture run_picture(const RunFigures& figures, std::string title, std::string facts) {
  std::vector<const ChartSpec*> specs;
  std::vector<std::vector<Curve>> panels;
  for (const ChartSpec& spec : chart_specs()) {
    std::vector<Curve> curves = curves_of(figures, spec);
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
    for (const Curve& curve : panels[i]) panel.lines.push_back(line_of(figures, curve, picture.places));
    picture.panels.push_back(std::move(panel));
  }
  return picture;
}

}  // namespace dovetail::report
