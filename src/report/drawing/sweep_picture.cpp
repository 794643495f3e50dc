#include "report/drawing/sweep_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "answer/words/figures.h"

namespace dovetail::report {
namespace {

using study::Sweep;
using study::SweepFigures;
using study::SweepInput;
using study::SweepPoint;

constexpr double gibibyte = 1 << 30;

/// The points that have a value: places of the picture.
std::vector<const SweepPoint*> places_of(const Sweep& sweep) {
  std::vector<const SweepPoint*> places;
  for (const SweepPoint& point : sweep.points)
    if (point.value) places.push_back(&point);
  return places;
}

CurvePicture::Line line_of(const Sweep& sweep, std::string name,
                           const std::function<double(const SweepFigures&)>& value) {
  CurvePicture::Line line{std::move(name), {}};
  for (const SweepPoint* point : places_of(sweep))
    line.values.push_back(point->figures ? std::optional(value(*point->figures)) : std::nullopt);
  return line;
}

/// Where a point of the sweep stands among the places; nothing of one without a value.
std::optional<std::size_t> place_of(const Sweep& sweep, std::optional<std::size_t> point) {
  if (!point || !sweep.points[*point].value) return std::nullopt;
  return *point - (sweep.points.front().value ? 0 : 1);
}

/// Whether an iteration does as much at every value.
bool has_same_work(SweepInput over) {
  return over != SweepInput::batch && over != SweepInput::samples && over != SweepInput::length;
}

CurvePicture::Panel seconds_panel(const Sweep& sweep) {
  CurvePicture::Panel panel{"iteration (s)", {}};
  if (is_simulated(sweep)) {
    CurvePicture::Line line =
        line_of(sweep, "simulated (mean, least to most)", [](const SweepFigures& of) { return of.seconds(); });
    for (const SweepPoint* point : places_of(sweep))
      line.ranges.push_back(
          point->figures && point->figures->simulated
              ? std::optional(CurvePicture::Range{point->figures->simulated->least, point->figures->simulated->most})
              : std::nullopt);
    panel.lines.push_back(std::move(line));
  }
  panel.lines.push_back(line_of(sweep, "closed form", [](const SweepFigures& of) { return of.iteration_seconds; }));
  if (const SweepPoint& first = sweep.points.front(); !first.value && first.figures)
    panel.levels.push_back({"do not migrate", first.figures->seconds()});
  const std::optional<std::size_t> best = place_of(sweep, sweep.fastest);
  // Of different amounts of work the shortest is not the best.
  if (best && has_same_work(sweep.over))
    panel.marks.push_back({0, *best, "best: " + label_of(sweep, sweep.points[*sweep.fastest])});
  return panel;
}

bool varies(const Sweep& sweep, const std::function<double(const SweepFigures&)>& value) {
  std::optional<double> first;
  for (const SweepPoint& point : sweep.points) {
    if (!point.figures) continue;
    if (!first) first = value(*point.figures);
    if (*first != value(*point.figures)) return true;
  }
  return false;
}

CurvePicture::Panel tokens_panel(const Sweep& sweep) {
  CurvePicture::Panel panel{
      "tokens/s/GPU", {line_of(sweep, "tokens/s/GPU", [](const SweepFigures& of) { return of.tokens_per_second; })}};
  if (const auto best = place_of(sweep, sweep.cheapest))
    panel.marks.push_back({0, *best, "cheapest: " + label_of(sweep, sweep.points[*sweep.cheapest])});
  return panel;
}

CurvePicture::Panel memory_panel(const Sweep& sweep) {
  const auto usable = [](const SweepFigures& of) { return static_cast<double>(of.usable) / gibibyte; };
  CurvePicture::Panel panel{"fullest device (GiB)", {}};
  panel.lines.push_back(
      line_of(sweep, "needed", [](const SweepFigures& of) { return static_cast<double>(of.needed) / gibibyte; }));
  if (varies(sweep, usable))
    panel.lines.push_back(line_of(sweep, "usable", usable));
  else
    for (const SweepPoint& point : sweep.points)
      if (point.figures && panel.levels.empty()) panel.levels.push_back({"usable", usable(*point.figures)});
  return panel;
}

/// The best, what the job or the plan has, and where the plan stops fitting.
std::string facts_of(const Sweep& sweep) {
  std::vector<std::string> facts;
  const auto add = [&](const char* what, std::size_t point) {
    if (const auto& figures = sweep.points[point].figures)
      facts.push_back(fmt::format("{}: {}, {} an iteration, {:.2f} samples/s", what,
                                  label_of(sweep, sweep.points[point]), answer::seconds_text(figures->seconds()),
                                  figures->samples_per_second));
  };
  if (sweep.fastest) add("best", *sweep.fastest);
  if (sweep.own && sweep.own != sweep.fastest) add("now", *sweep.own);
  if (sweep.overflow) facts.push_back("does not fit from " + label_of(sweep, sweep.points[*sweep.overflow]) + " on");
  return fmt::format("{}", fmt::join(facts, "; "));
}

}  // namespace

CurvePicture sweep_picture(const Sweep& sweep, const std::string& title) {
  CurvePicture picture;
  picture.title = title;
  picture.x_name = std::string(study::axis_name(sweep.over));
  picture.logarithmic = sweep.over != SweepInput::threshold && sweep.over != SweepInput::staleness;
  picture.hollow_name = "does not fit";
  for (const SweepPoint* point : places_of(sweep))
    picture.places.push_back(
        {*point->value, study::value_text(sweep.over, *point->value), point->figures && !point->figures->fits()});
  picture.facts = facts_of(sweep);
  picture.panels.push_back(seconds_panel(sweep));
  if (!has_same_work(sweep.over) || sweep.over == SweepInput::nodes) picture.panels.push_back(tokens_panel(sweep));
  if (varies(sweep, [](const SweepFigures& of) { return static_cast<double>(of.needed); }))
    picture.panels.push_back(memory_panel(sweep));
  return picture;
}

}  // namespace dovetail::report
