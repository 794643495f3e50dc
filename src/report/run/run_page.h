// HTML report page of a run of `dovetail train`, and its metrics as curves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/measured/measured.h"
#include "records/metric_table.h"
#include "records/sample_rows.h"
#include "records/training_phases.h"
#include "report/drawing/curve_svg.h"
#include "report/page/page.h"

namespace dovetail::report {

/// Rows of a run's metrics.jsonl and eval.jsonl.
struct RunTables {
  records::MetricTable metrics;
  records::MetricTable evaluations;
};

/// Returns the charts of a run: rewards first, then divergence, losses, entropy, clipping, gradients, learning rates,
/// lengths and speed. Omits values that are not numbers, and charts whose values are all zero. In a long run, a point
/// is the mean of several iterations, and the note says so.
std::vector<LineChart> run_charts(const RunTables& tables);

/// Returns the first two charts as a picture, with the interquartile range of the rewards as a band. `facts` is a line
/// below the title. REQUIRES: run_charts is not empty.
CurvePicture run_picture(const RunTables& tables, std::string title, std::string facts);

struct RunReport {
  std::string name;      ///< name of the job
  std::string subtitle;  ///< "Run of dovetail train: ppo on 1 device."
  RunTables tables;
  std::optional<answer::MeasuredAnswer> measured;   ///< times compared with their prediction; must have `predicted`
  std::vector<records::TrainingPhase> phases = {};  ///< training phases of several ranks, with their schedules
  std::vector<records::SampleRow> samples = {};     ///< responses of the last iteration
};

/// Returns the responses with the highest and the lowest rewards, highest first: a few of each, or all responses if
/// there are only a few. Line breaks and tabs are shown as escapes, and long texts are cut. REQUIRES: `samples` is not
/// empty.
Table sample_table(const std::vector<records::SampleRow>& samples);

/// Builds the page: rewards and total time, two curves, samples of the last iteration, the other curves, timeline, time
/// use, predicted and measured times, and each training phase of several ranks compared with its schedule.
Page run_page(const RunReport& report);

}  // namespace dovetail::report
