// Progress callbacks and cancellation for long-running questions.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "parallel/cancellation.h"

namespace dovetail::answer {

/// Field of a progress line. `text` includes the separator from its neighbor. If the line is too long, fields with
/// higher ranks are dropped first.
struct ProgressField {
  std::string text;
  int rank = 0;
};

/// Returns the progress fields; called only when they are displayed.
using Figures = std::function<std::vector<ProgressField>()>;

/// Callbacks of the caller. Unset callbacks are skipped. All are called from the calling thread.
struct Callbacks {
  const parallel::Cancellation* cancellation = nullptr;  ///< request to stop and return the best result so far
  std::function<base::Status()> on_read = {};            ///< all input has been read; an Error cancels the question
  std::function<void(std::string)> on_label = {};        ///< name of the work from now on, such as the job
  std::function<void(const Figures&)> on_figures = {};   ///< progress of a search
  std::function<void(std::string_view)> on_work = {};    ///< what is being done, such as "proving bounds"
  std::function<void(std::string_view)> on_note = {};    ///< remark about the input that is not an error
};

inline base::Status notify_read(const Callbacks& callbacks) {
  return callbacks.on_read ? callbacks.on_read() : base::Status();
}
inline void notify_label(const Callbacks& callbacks, std::string label) {
  if (callbacks.on_label) callbacks.on_label(std::move(label));
}
inline void notify_figures(const Callbacks& callbacks, const Figures& figures) {
  if (callbacks.on_figures) callbacks.on_figures(figures);
}
inline void notify_work(const Callbacks& callbacks, std::string_view work) {
  if (callbacks.on_work) callbacks.on_work(work);
}
inline void notify_note(const Callbacks& callbacks, std::string_view note) {
  if (callbacks.on_note) callbacks.on_note(note);
}

/// Outcome of a request, which determines the command's exit code.
enum class Outcome {
  done,
  infeasible,  ///< nothing found fits in memory or meets the deadline
  interrupted  ///< stopped; the answer is the best so far
};

/// Returns `outcome`, or Outcome::interrupted if the caller requested a stop.
inline Outcome unless_interrupted(const Callbacks& callbacks, Outcome outcome) {
  return parallel::is_requested(callbacks.cancellation) ? Outcome::interrupted : outcome;
}

}  // namespace dovetail::answer
