// Files of measurements for tests.
#pragma once

#include <string>

namespace dovetail::test {

inline std::string job_text(const std::string& gpu) {
  return "{format: dovetail/job@1, name: small, algorithm: {name: grpo, reward: rule}, models: {actor: qwen3-0.6b}, "
         "workload: {prompts: 32, samples_per_prompt: 8, mini_batches: 2, prompt_length: 128, response_length: 512}, "
         "cluster: {nodes: 1, gpus_per_node: 8, gpu: " +
         gpu + "}}";
}

inline std::string plan_text() {
  const std::string layout = "devices: 0-7, layout: {dp: 8}";
  const std::string trainer = layout + ", micro_batch: {sequences: 4}}";
  return "{format: dovetail/plan@1, tasks: [{task: actor_generate, " + layout +
         ", engine: {memory_utilization: 0.5}}, {task: actor_infer, " + trainer + ", {task: reference_infer, " +
         trainer + ", {task: actor_train, " + trainer + "]}";
}

/// Returns a measurement file with one row. `row` must contain *job and *plan. The first of each is replaced by a
/// definition of the job or plan, to which all others refer.
inline std::string file_of(std::string row, const std::string& gpu = "H100") {
  const auto replace = [&row](const std::string& from, const std::string& to) {
    row.replace(row.find(from), from.size(), to);
  };
  replace("*job", "&job " + job_text(gpu));
  replace("*plan", "&plan " + plan_text());
  return "format: dovetail/measurement@1\nname: h100/small\nrows:\n  - " + row + "\n";
}

/// Returns a measurement file with three rows: one is doubtful, and one does not specify the spread of its lengths.
inline std::string measurement_text() {
  return "format: dovetail/measurement@1\nname: h100/small\nsource: a test\nstart: {task: 0.5}\n"
         "fit: [matrix_products, decode_step]\nspread: {high: 1.2}\nrows:\n"
         "  - {name: one, job: &job " +
         job_text("H100") + ", plan: &plan " + plan_text() +
         ", seconds: 30, phases: {generation: 20, actor_train: 4}}\n"
         "  - {name: two, group: other, job: *job, plan: *plan, seconds: 40, weight: 2, response_length: {mean: 400, "
         "cap: 1000}}\n"
         "  - {name: three, job: *job, plan: *plan, seconds: 35, doubtful: a guess}\n";
}

}  // namespace dovetail::test
