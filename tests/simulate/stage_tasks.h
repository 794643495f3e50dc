// Generation followed by inference, shared by the tests of both.
#pragma once

#include <memory>
#include <vector>

#include "cost/training.h"
#include "generations.h"
#include "llm/transformer.h"
#include "simulate/inter_stage.h"

namespace dovetail::simulate::test {

/// A generate task and infer tasks on its mesh, with the objects that their references need. Must not be copied.
struct StageContext {
  Scenario generation;
  std::vector<std::unique_ptr<cost::ModelFacts>> models;
  InterStageTask task;

  StageContext(const char* model, const llm::Layout& layout)
      : generation(model, layout), task{generation.task, {}, base::Ticks(0)} {}

  /// Adds a task with `tensor` x `pipeline` devices per replica, which must divide the mesh.
  InferTask& add(const char* model, int tensor, int pipeline, double sequences, double load_seconds) {
    models.push_back(std::make_unique<cost::ModelFacts>(
        cost::facts_of(llm::with_scalar_head(llm::find_bundled_model(model).value()))));
    const int devices = task.generation.mesh.count;
    const InferTask infer{*models.back(),
                          layout_of(devices / tensor / pipeline, tensor, pipeline),
                          {sequences, 0, 0},
                          cost::machine_of(generation.cluster, task.generation.mesh, {}),
                          cost::Efficiency(),
                          base::ticks_of_seconds(load_seconds),
                          {},
                          static_cast<std::int32_t>(models.size())};
    task.infer.push_back(infer);
    return task.infer.back();
  }

  /// Sets each task's stand-alone time for these samples to the closed form at their mean length.
  void know(const std::vector<Sample>& samples) {
    std::int64_t tokens = 0;
    for (const Sample& sample : samples) tokens += sample.prompt + sample.response;
    const auto count = static_cast<std::int64_t>(samples.size());
    const auto lengths = workflow::LengthDistribution::fixed(tokens / count);
    for (InferTask& infer : task.infer)
      infer.uncontended = base::ticks_of_seconds(
          cost::inference_seconds(infer.facts, infer.layout, cost::batch_of(static_cast<double>(count), lengths),
                                  infer.micro_batching, infer.machine, infer.efficiency)
              .seconds);
  }
};

/// Returns samples of short responses, except that every `period`-th is `factor` times as long.
inline std::vector<Sample> long_tailed(int count, std::int64_t response, int period, int factor) {
  std::vector<Sample> samples = equal_samples(count, 100, response);
  for (std::size_t index = 0; index < samples.size(); index += static_cast<std::size_t>(period))
    samples[index].response *= factor;
  return samples;
}

}  // namespace dovetail::simulate::test
