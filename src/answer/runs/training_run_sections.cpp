#include <fmt/format.h>

#include <algorithm>

#include "answer/runs/training_run.h"
#include "answer/words/amounts.h"
#include "answer/words/plan_words.h"
#include "llm/counts.h"

namespace dovetail::answer {
namespace {

std::string length_words(const TrainingRunAnswer& answer) {
  const control::RunSettings& settings = answer.run.settings;
  if (answer.iterations) return fmt::format("{} iterations", *answer.iterations);
  if (settings.iterations) return fmt::format("{} iterations", *settings.iterations);
  return fmt::format("{} epochs of the data", settings.epochs.value_or(1));
}

/// Initial weights of a role.
std::string begin_words(const control::RunModel& model) {
  if (model.checkpoint) return model.checkpoint->folder();
  return model.like.empty() ? "random weights" : fmt::format("copy of {}", model.like);
}

Table model_table(const TrainingRunAnswer& answer) {
  Table table;
  table.columns = {{"model", Align::left}, {"parameters"}, {"trained", Align::left}, {"starts from", Align::left}};
  for (const control::RunModel& model : answer.models)
    table.rows.push_back({model.role,
                          fmt::format("{:.2f}M", static_cast<double>(llm::count_parameters(model.shape).all) / 1e6),
                          model.trained ? "yes" : "no", begin_words(model)});
  return table;
}

/// Max memory that a task needs on a device.
std::int64_t needed_bytes(const predict::Estimate& estimate) {
  std::int64_t most = 0;
  for (const predict::TaskMemory& memory : estimate.memory) most = std::max(most, memory.needed());
  return most;
}

}  // namespace

Sections sections(const TrainingRunAnswer& answer) {
  const control::RunData& data = answer.run.settings.data;
  std::string text = fmt::format("data: {} samples from {}", answer.samples, data.train);
  if (answer.validation > 0) text += fmt::format(", {} for validation from {}", answer.validation, data.validation);
  text += fmt::format("\nplan: {}, {}: predicted {} per iteration, {} of memory\n",
                      answer.plan_path.empty() ? "searched" : answer.plan_path, answer.plan.placement,
                      seconds_text(answer.estimate.iteration_seconds), gibibytes(needed_bytes(answer.estimate)));
  return fmt::format("{}; {}\n", job_line(answer.run.job), length_words(answer)) + Sections(model_table(answer)) +
         Sections(text);
}

}  // namespace dovetail::answer
