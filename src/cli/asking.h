// Asking a question for a command: with a line of progress, so that Ctrl-C ends it, and no output replaces what is
// read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/question/input.h"
#include "answer/question/section.h"
#include "answer/question/watch.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/progress_line.h"

namespace dovetail::cli {

/// Somebody at a terminal who waits for an answer.
class Asking {
 public:
  /// `label` is what the work is called until it says so itself; `outputs` are the files that will be written.
  Asking(const std::string& label, std::vector<std::optional<std::string>> outputs, PlainLines plain);

  /// It refers to this.
  answer::Watch watch();

 private:
  ProgressLine line_;
  std::vector<std::optional<std::string>> outputs_;
};

/// Of who waits for no search: notes are printed.
answer::Watch noting();

/// The answer to `request`. Before the work begins it is an Error where one of `outputs`, which will be written, is a
/// file that was read.
template <class Request>
auto ask(const Request& request, const std::string& label, std::vector<std::optional<std::string>> outputs = {},
         PlainLines plain = PlainLines::none) {
  Asking asking(label, std::move(outputs), plain);
  return ask(request, asking.watch());
}

/// A file that is made of an answer: where it is written to, and what is written, worked out when it is.
struct AnswerFile {
  std::optional<std::string> path;
  std::function<base::Result<std::string>()> content;
};

// Prints an answer: its sections, or with `json` its JSON, and writes its file. Sections stand on standard error where
// the file is standard output; JSON then has what the file says as its member `output`. An answer whose file cannot be
// written is printed all the same.
base::Status deliver(const answer::Sections& sections, const AnswerFile& file);
base::Status deliver_json(const std::string& json, const AnswerFile& file);
template <class Answer>
base::Status deliver(const Answer& answer, bool json, const AnswerFile& file = {}) {
  return json ? deliver_json(to_json(answer), file) : deliver(sections(answer), file);
}

/// The exit code of an outcome.
int exit_code_of(answer::Outcome outcome);

}  // namespace dovetail::cli
