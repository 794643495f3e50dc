// Progress callbacks and cancellation for long-running questions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "parallel/cancellation.h"

namespace dovetail::answer {

/// Field of a progress line, with its separator. If the line is too long, fields with a higher rank are dropped first.
struct ProgressField {
  std::string text;
  int rank = 0;
};

/// Returns the progress fields; called only when they are displayed.
using Figures = std::function<std::vector<ProgressField>()>;

/// Callbacks of the caller. Unset callbacks are skipped. All are called from the calling thread.
struct Watch {
  const parallel::Cancellation* cancellation = nullptr;  ///< request to stop and return the best result so far
  std::function<base::Status()> on_read = {};            ///< all input has been read; an Error cancels the question
  std::function<void(std::string)> on_label = {};        ///< new name of the current work
  std::function<void(const Figures&)> on_figures = {};   ///< progress of a search
  std::function<void(std::string_view)> on_work = {};    ///< current activity, as text
  std::function<void(std::string_view)> on_note = {};    ///< remark about the input that is not an error
};

inline base::Status tell_read(const Watch& watch) { return watch.on_read ? watch.on_read() : base::Status(); }
inline void tell_label(const Watch& watch, std::string label) {
  if (watch.on_label) watch.on_label(std::move(label));
}
inline void tell_figures(const Watch& watch, const Figures& figures) {
  if (watch.on_figures) watch.on_figures(figures);
}
inline void tell_work(const Watch& watch, std::string_view work) {
  if (watch.on_work) watch.on_work(work);
}
inline void tell_note(const Watch& watch, std::string_view note) {
  if (watch.on_note) watch.on_note(note);
}

/// Outcome of a question, and exit code of the command.
enum class Outcome {
  done,
  infeasible,  ///< nothing fits in memory or meets the deadline
  interrupted  ///< stopped; the answer is the best so far
};

/// Returns `outcome`, or Outcome::interrupted if the caller requested a stop.
inline Outcome unless_interrupted(const Watch& watch, Outcome outcome) {
  return parallel::is_requested(watch.cancellation) ? Outcome::interrupted : outcome;
}

}  // namespace dovetail::answer
