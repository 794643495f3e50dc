#include "cli/question_progress.h"

#include "answer/question/output.h"
#include "cli/interrupt.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

base::Status write_to(const std::string& path, const base::Result<std::string>& content) {
  if (!content.ok()) return content.error();
  const auto written = write_output(path, *content);
  return written.ok() ? base::Status() : written.error();
}

}  // namespace

QuestionProgress::QuestionProgress(const std::string& label, std::vector<std::optional<std::string>> outputs,
                                   PlainLines plain)
    : line_(label, plain), outputs_(std::move(outputs)) {}

answer::Callbacks QuestionProgress::callbacks() {
  answer::Callbacks callbacks;
  callbacks.cancellation = &stop_on_interrupt();
  callbacks.on_read = [this]() -> base::Status { return check_outputs(outputs_); };
  callbacks.on_label = [this](std::string label) { line_.set_label(std::move(label)); };
  callbacks.on_figures = [this](const answer::Figures& figures) { line_.update(figures); };
  callbacks.on_work = [this](std::string_view work) { line_.update(work); };
  callbacks.on_note = [](std::string_view note) { print_note(note); };
  return callbacks;
}

answer::Callbacks note_callbacks() {
  return {.on_note = [](std::string_view note) { print_note(note); }};
}

base::Status deliver(const answer::Sections& sections, const AnswerFile& file) {
  const base::Status written = file.path ? write_to(*file.path, file.content()) : base::Status();
  print_unless_stdout(file.path, report::text_of(sections));
  return written;
}

base::Status deliver_json(const std::string& json, const AnswerFile& file) {
  if (!file.path || !is_standard_output(*file.path)) {
    const base::Status written = file.path ? write_to(*file.path, file.content()) : base::Status();
    print_json(json);
    return written;
  }
  const auto content = file.content();
  print_json(content.ok() ? answer::json_with_output(json, *content) : json);
  return content.ok() ? base::Status() : content.error();
}

int exit_code_of(answer::Outcome outcome) {
  switch (outcome) {
    case answer::Outcome::done:
      return exit_done;
    case answer::Outcome::infeasible:
      return exit_infeasible;
    case answer::Outcome::interrupted:
      return exit_interrupted;
  }
  DOVETAIL_ASSERT(false);
}

}  // namespace dovetail::cli
