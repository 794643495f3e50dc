// What somebody who asks hears before the answer is there, and how he ends the wait.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "parallel/cancellation.h"

namespace dovetail::answer {

/// A part of a line of progress with what stands before it, and its place in the order in which parts are given room: 0
/// comes first.
struct ProgressField {
  std::string text;
  int rank = 0;
};

/// How far a search is; worked out where it is shown.
using Figures = std::function<std::vector<ProgressField>()>;

/// Who waits for an answer. A callback that is not set is not called; they are called from the thread that asks.
struct Watch {
  const parallel::Cancellation* cancellation = nullptr;  ///< a request to stop with the best so far
  std::function<base::Status()> on_read = {};      ///< all input is read, the work begins; an Error ends the question
  std::function<void(std::string)> on_label = {};  ///< what the work is called from now on
  std::function<void(const Figures&)> on_figures = {};  ///< how far a search is, as often as it says
  std::function<void(std::string_view)> on_work = {};   ///< what is being done, in words
  std::function<void(std::string_view)> on_note = {};   ///< a sentence on what was read, which is no error
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

/// How a question ended. The exit codes of the command line are these.
enum class Outcome {
  done,
  infeasible,  ///< nothing fits the memory, or keeps the deadline
  interrupted  ///< the best so far
};

/// `outcome`, unless the asker asked to stop.
inline Outcome unless_interrupted(const Watch& watch, Outcome outcome) {
  return parallel::is_requested(watch.cancellation) ? Outcome::interrupted : outcome;
}

}  // namespace dovetail::answer
