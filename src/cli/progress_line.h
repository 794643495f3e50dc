// Progress of a search on stderr: one line that is rewritten on a terminal. Elsewhere, a new line every few seconds if
// the command asks for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "answer/question/callbacks.h"

namespace dovetail::cli {

using answer::ProgressField;

/// Output of a ProgressLine if stderr is not a terminal.
enum class PlainLines { none, every_few_seconds };

/// Returns a line of at most `columns` columns with some of the fields, in their original order. Chooses fields by
/// increasing rank, and from left to right within a rank, until one does not fit. Fields are never cut.
std::string fit_fields(const std::vector<ProgressField>& fields, std::size_t columns);

class ProgressLine {
 public:
  /// `label` names the work, such as "exp5" or "annealing".
  explicit ProgressLine(std::string label, PlainLines plain = PlainLines::none);
  /// Clears the line on a terminal.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows these figures on a terminal, at most every 0.1 s. Elsewhere, shows them only with
  /// PlainLines::every_few_seconds, at most every 5 s.
  void update(const answer::Figures& figures);
  /// Shows a text instead of search figures, on a terminal only.
  void update(std::string_view text);
  /// Changes the name of the work in later lines.
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
