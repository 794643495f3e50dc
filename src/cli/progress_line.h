// How far a search is, on stderr: one line that is rewritten on a terminal, else a line every few seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "answer/question/watch.h"

namespace dovetail::cli {

using answer::ProgressField;

/// What is printed where there is no terminal.
enum class PlainLines { none, every_few_seconds };

/// The fields that have room together, as they follow each other. Room is given by rank, and from the left where that
/// is equal, up to the first that has none: a line is never cut within a number.
std::string fit_fields(const std::vector<ProgressField>& fields, std::size_t room);

class ProgressLine {
 public:
  /// `label` names the work ("exp5", "annealing").
  explicit ProgressLine(std::string label, PlainLines plain = PlainLines::none);
  /// Takes the line off a terminal.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows these figures where the last line is long enough ago: a tenth of a second on a terminal, five seconds
  /// elsewhere.
  void update(const answer::Figures& figures);
  /// Shows a plain text in place of a search's figures, on a terminal only.
  void update(std::string_view text);
  /// What the work is called from now on.
  void set_label(std::string label) { label_ = std::move(label); }

 private:
  bool is_due();
  void show(std::vector<ProgressField> fields);

  std::string label_;
  PlainLines plain_;
  bool on_terminal_;
  bool visible_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace dovetail::cli
