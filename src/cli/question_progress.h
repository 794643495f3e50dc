// Answers the request of a command: shows progress, stops on Ctrl-C, prevents outputs from overwriting inputs, and
// prints the answer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/question/callbacks.h"
#include "answer/question/input.h"
#include "answer/question/section.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/progress_line.h"

namespace dovetail::cli {

/// Shows the progress of one question and protects its input files.
class QuestionProgress {
 public:
  /// `label` names the work until the question sets its own label. `outputs` are the files that will be written.
  QuestionProgress(const std::string& label, std::vector<std::optional<std::string>> outputs, PlainLines plain);

  /// Returns the callbacks for the question. They must not outlive this object.
  answer::Callbacks callbacks();

 private:
  ProgressLine line_;
  std::vector<std::optional<std::string>> outputs_;
};

/// Returns callbacks that only print notes, for questions without a search.
answer::Callbacks note_callbacks();

/// Answers `request` and shows its progress. When all input has been read, checks `outputs` (check_outputs). `label`
/// and `plain`: see QuestionProgress and ProgressLine.
template <class Request>
auto answer_to(const Request& request, const std::string& label, std::vector<std::optional<std::string>> outputs = {},
               PlainLines plain = PlainLines::none) {
  QuestionProgress progress(label, std::move(outputs), plain);
  return answer_to(request, progress.callbacks());
}

/// Output file of an answer. `content` is computed on demand.
struct AnswerFile {
  std::optional<std::string> path;
  std::function<base::Result<std::string>()> content;
};

// Each function prints an answer, as sections or as JSON, and writes its file. If the file is standard output, sections
// go to stderr, and JSON has the content of the file as its member `output`. The answer is printed even if its file
// cannot be written; the failure is then returned.
base::Status deliver(const answer::Sections& sections, const AnswerFile& file);
base::Status deliver_json(const std::string& json, const AnswerFile& file);
template <class Answer>
base::Status deliver(const Answer& answer, bool json, const AnswerFile& file = {}) {
  return json ? deliver_json(to_json(answer), file) : deliver(sections(answer), file);
}

/// Returns the exit code for an outcome.
int exit_code_of(answer::Outcome outcome);

}  // namespace dovetail::cli
