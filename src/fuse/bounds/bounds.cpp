#include "fuse/bounds/bounds.h"

#include <algorithm>
#include <utility>

#include "fuse/bounds/position_bounds.h"

namespace dovetail::fuse {
namespace {

using base::ModelId;
using base::Ticks;
using pipeline::OpGraph;
using pipeline::Problem;

/// Ops of one model on one device.
struct ModelOnDevice {
  ModelId model;
  Ticks head;  ///< minimum over its ops
  Ticks work;
  Ticks tail;  ///< minimum over its ops
};

/// Returns, for each device, the models with ops there.
std::vector<std::vector<ModelOnDevice>> models_by_device(const OpGraph& graph, const std::vector<Ticks>& heads,
                                                         const std::vector<Ticks>& tails) {
  std::vector<std::vector<ModelOnDevice>> devices(static_cast<std::size_t>(graph.devices));
  for (std::size_t op = 0; op < graph.size(); ++op) {
    std::vector<ModelOnDevice>& models = devices[graph.device[op].index()];
    // The graph stores the ops of a model contiguously.
    if (models.empty() || models.back().model != graph.labels[op].model)
      models.push_back({graph.labels[op].model, heads[op], Ticks(0), tails[op]});
    ModelOnDevice& own = models.back();
    own.head = std::min(own.head, heads[op]);
    own.work += graph.duration[op];
    own.tail = std::min(own.tail, tails[op]);
  }
  return devices;
}

/// Returns the maximum over subsets of minimum head + work + minimum tail. For a given minimum head and tail, the best
/// subset contains all models with no smaller ones. So only the pairs of a head and a tail that occur are tried.
Ticks max_head_work_tail(std::vector<ModelOnDevice> models) {
  std::sort(models.begin(), models.end(),
            [](const ModelOnDevice& a, const ModelOnDevice& b) { return a.tail > b.tail; });
  Ticks largest;
  for (const ModelOnDevice& earliest : models) {
    Ticks work;
    for (const ModelOnDevice& latest : models) {
      if (latest.head < earliest.head) continue;
      work += latest.work;
      largest = std::max(largest, earliest.head + work + latest.tail);
    }
  }
  return largest;
}

void append_jobs(std::vector<Job>& jobs, const std::vector<Ticks>& heads, Ticks duration,
                 const std::vector<Ticks>& tails) {
  for (std::size_t position = 0; position < heads.size(); ++position)
    jobs.push_back({heads[position], duration, tails[position]});
}

std::vector<Ticks> one_machine_by_device(const Problem& problem) {
  const std::vector<StageBounds> stages = position_bounds(problem);
  std::vector<std::vector<const StageBounds*>> by_device(static_cast<std::size_t>(problem.devices));
  for (const StageBounds& stage : stages) by_device[stage.device.index()].push_back(&stage);
  std::vector<Ticks> bounds;
  for (const auto& on_device : by_device) {
    std::vector<Job> jobs;
    for (const StageBounds* stage : on_device) {
      const pipeline::Model& model = problem.models[stage->model.index()];
      const std::size_t s = stage->stage.index();
      append_jobs(jobs, stage->heads.forward, model.forward[s], stage->tails.forward);
      append_jobs(jobs, stage->heads.backward, model.backward[s], stage->tails.backward);
      if (model.split())
        append_jobs(jobs, stage->heads.weight_gradient, model.weight_gradient[s], stage->tails.weight_gradient);
      append_jobs(jobs, stage->heads.step, model.step[s], stage->tails.step);
    }
    bounds.push_back(preemptive_one_machine(std::move(jobs)));
  }
  return bounds;
}

/// Returns, for each device, the minimum activation that any schedule holds there at some moment. When the forward of
/// the last stage ends, its micro-batch is held on all stages of its pipeline.
std::vector<base::Memory> min_peaks(const Problem& problem) {
  std::vector<base::Memory> least(static_cast<std::size_t>(problem.devices));
  std::vector<base::Memory> held(least.size());
  for (const pipeline::Model& model : problem.models) {
    for (const auto& devices : model.replicas) {
      for (std::size_t s = 0; s < devices.size(); ++s) {
        base::Memory& here = held[devices[s].index()];
        here += model.activation[s];
        least[devices[s].index()] = std::max(least[devices[s].index()], here);
      }
      for (const base::DeviceId device : devices) held[device.index()] = base::Memory(0);
    }
  }
  return least;
}

Ticks max_of(const std::vector<Ticks>& times) { return *std::max_element(times.begin(), times.end()); }

}  // namespace

base::Memory peak_activation_bound(const Problem& problem) {
  const std::vector<base::Memory> least = min_peaks(problem);
  return *std::max_element(least.begin(), least.end());
}

std::vector<pipeline::CapacityExcess> find_impossible(const Problem& problem, std::optional<base::Memory> cap) {
  pipeline::Evaluation least;
  for (const base::Memory peak : min_peaks(problem)) least.devices.push_back({{}, {}, {}, peak});
  return pipeline::find_excess(problem, least, cap);
}

Bounds bounds_of(const Problem& problem) {
  Bounds bounds;
  {
    const OpGraph graph = pipeline::lower(problem, pipeline::BackwardForm::split).graph;
    const std::vector<Ticks> heads = pipeline::max_heads(graph);
    for (std::size_t op = 0; op < graph.size(); ++op)
      bounds.path = std::max(bounds.path, heads[op] + graph.duration[op]);
    for (auto& models : models_by_device(graph, heads, pipeline::max_tails(graph))) {
      Ticks work;
      for (const ModelOnDevice& model : models) work += model.work;
      bounds.work = std::max(bounds.work, work);
      bounds.head_work_tail_by_device.push_back(max_head_work_tail(std::move(models)));
    }
  }
  bounds.one_machine_by_device = one_machine_by_device(problem);
  bounds.head_work_tail = max_of(bounds.head_work_tail_by_device);
  bounds.one_machine = max_of(bounds.one_machine_by_device);
  bounds.makespan = std::max({bounds.path, bounds.work, bounds.head_work_tail, bounds.one_machine});
  bounds.peak_activation = peak_activation_bound(problem);
  return bounds;
}

}  // namespace dovetail::fuse
