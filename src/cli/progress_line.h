// How far a search is, on stderr: one line that is rewritten on a terminal, else a line every few seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/question/watch.h"
#include "answer/words/figures.h"
#include "base/quantity.h"
#include "fuse/solution/solution.h"

namespace dovetail::cli {

using answer::ProgressField;

/// What is printed where there is no terminal.
enum class PlainLines { none, every_few_seconds };

/// How far a search is: the best so far, its bound and gap, the speed and the time left, for which eighty columns have room; then the peak,
/// with `peak_bound` where there is one, what the search is at, and how much is done. Each field has what stands before it.
std::vector<ProgressField> progress_fields(const fuse::Progress& progress, base::Ticks bound, std::optional<base::Memory> peak_bound,
                                           base::TimeUnit unit);

/// The fields that have room together, as they follow each other. Room is given by rank, and from the left where that is equal, up to the
/// first that has none: a line is never cut within a number.
std::string fit_fields(const std::vector<ProgressField>& fields, std::size_t room);

class ProgressLine {
 public:
  /// `label` names the work ("exp5", "annealing"); `bound` is the proven bound on the makespan.
  ProgressLine(std::string label, base::Ticks bound, base::TimeUnit unit);
  /// Of work that tells its figures itself.
  explicit ProgressLine(std::string label, PlainLines plain = PlainLines::none);
  /// Takes the line off a terminal.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows the line, where the last one is long enough ago (a tenth of a second on a terminal, five seconds elsewhere).
  void update(const fuse::Progress& progress);
  /// Shows these figures where the last line is long enough ago: a tenth of a second on a terminal, five seconds elsewhere.
  void update(const answer::Figures& figures);
  /// Shows these figures, each with what stands before it, on a terminal only, and where the last line is long enough ago.
  void update(std::vector<ProgressField> fields);
  /// Shows a plain text in place of a search's figures, on a terminal only.
  void update(std::string_view text);
  /// Shows beside the peak what no schedule of `problem` that is as long can go below. `problem` must outlive the line; where it is so
  /// large that the bound takes long, the peak stands alone.
  void show_peak_bound(const pipeline::Problem& problem);
  /// What the work is called from now on.
  void set_label(std::string label) { label_ = std::move(label); }
  /// Speed that the search told last; 0 where it told none.
  double iterations_per_second() const { return iterations_per_second_; }

 private:
  bool is_due();
  void show(std::vector<ProgressField> fields);
  std::optional<base::Memory> peak_bound(base::Ticks makespan);

  std::string label_;
  base::Ticks bound_;
  const pipeline::Problem* problem_ = nullptr;  // whose peak bound is shown
  base::Ticks peak_bound_makespan_;             // that peak_bound_ is of
  std::optional<base::Memory> peak_bound_;
  base::TimeUnit unit_;
  bool on_terminal_;
  PlainLines plain_ = PlainLines::every_few_seconds;
  bool visible_ = false;
  double iterations_per_second_ = 0;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace dovetail::cli
