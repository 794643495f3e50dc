#include "support/random_problem.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/random.h"

namespace dovetail::test {
namespace {

using base::DeviceId;
using base::Memory;
using base::Ticks;
using pipeline::Model;
using pipeline::Problem;

class ProblemMaker {
 public:
  ProblemMaker(std::uint64_t seed, const RandomProblemOptions& options)
      : state_(base::scatter(seed)), options_(options) {}

  Problem make() {
    Problem problem;
    problem.devices = from(1, options_.max_devices);
    const auto devices = static_cast<std::size_t>(problem.devices);
    problem.resident.assign(devices, Memory(0));
    const int models = from(1, options_.max_models);
    for (int index = 0; index < models; ++index)
      problem.models.push_back(make_model("model" + std::to_string(index), problem.devices));
    if (options_.resident && chance(3))
      for (Memory& resident : problem.resident) resident = memory();
    if (options_.capacity && chance(2)) {
      problem.capacity.emplace();
      for (std::size_t device = 0; device < devices; ++device)
        problem.capacity->push_back(problem.resident[device] + memory() * from(1, 5));
    }
    return problem;
  }

 private:
  /// Returns a uniform number in [least, most].
  int from(int least, int most) {
    state_ = base::scatter(state_);
    return least + static_cast<int>(state_ % static_cast<std::uint64_t>(most - least + 1));
  }
  bool chance(int one_in) { return from(1, one_in) == 1; }
  Ticks time(int least) { return Ticks(from(least, options_.max_op)); }
  /// Returns up to four units, usually a fraction.
  Memory memory() { return Memory(250'000) * from(0, 16); }

  template <class Value, class Draw>
  std::vector<Value> per_stage(std::size_t count, Draw draw) {
    std::vector<Value> values(count);
    const bool even = !options_.uneven || chance(2);
    for (std::size_t s = 0; s < count; ++s) values[s] = even && s > 0 ? values[0] : draw();
    return values;
  }

  std::vector<DeviceId> make_replica(int stages, int devices) {
    std::vector<DeviceId> replica;
    if (options_.shared_devices && (stages > devices || chance(3))) {
      for (int s = 0; s < stages; ++s) replica.push_back(DeviceId(from(0, devices - 1)));
      return replica;
    }
    std::vector<int> shuffled(static_cast<std::size_t>(devices));
    std::iota(shuffled.begin(), shuffled.end(), 0);
    for (int s = 0; s < stages; ++s) {
      std::swap(shuffled[static_cast<std::size_t>(s)], shuffled[static_cast<std::size_t>(from(s, devices - 1))]);
      replica.push_back(DeviceId(shuffled[static_cast<std::size_t>(s)]));
    }
    return replica;
  }

  Model make_model(std::string name, int devices) {
    Model model;
    model.name = std::move(name);
    const int stages = from(1, options_.shared_devices ? options_.max_stages : std::min(options_.max_stages, devices));
    const auto count = static_cast<std::size_t>(stages);
    model.microbatches = from(1, options_.max_microbatches);
    const int replicas = chance(2) ? 1 : from(1, options_.max_replicas);
    for (int r = 0; r < replicas; ++r) model.replicas.push_back(make_replica(stages, devices));
    model.forward = per_stage<Ticks>(count, [this] { return time(1); });
    model.backward = per_stage<Ticks>(count, [this] { return time(1); });
    model.activation = per_stage<Memory>(count, [this] { return memory(); });
    model.transfer_forward.assign(count - 1, Ticks(0));
    model.transfer_backward.assign(count - 1, Ticks(0));
    model.step.assign(count, Ticks(0));
    add_features(model);
    return model;
  }

  void add_features(Model& model) {
    const std::size_t stages = model.forward.size();
    if (options_.split && chance(2)) {
      model.weight_gradient = per_stage<Ticks>(stages, [this] { return time(1); });
      model.weight_activation = model.activation;
      if (options_.weight_activation && chance(2))
        for (Memory& kept : model.weight_activation) kept = Memory(kept.count() / 4 * from(0, 4));
    }
    if (options_.transfers && chance(2)) {
      const int longest = options_.max_op / 2;
      model.transfer_forward = per_stage<Ticks>(stages - 1, [this, longest] { return Ticks(from(0, longest)); });
      model.transfer_backward = per_stage<Ticks>(stages - 1, [this, longest] { return Ticks(from(0, longest)); });
    }
    if (options_.steps && chance(2)) {
      model.minibatches = from(1, options_.max_minibatches);
      if (chance(2)) model.step = per_stage<Ticks>(stages, [this] { return time(0); });
      if (options_.step_waits) add_step_waits(model);
    }
  }

  /// Drawn separately, so that a problem of a seed is otherwise the same with and without.
  void add_step_waits(Model& model) {
    const std::uint64_t drawn = base::scatter(state_ + 1);
    if (drawn % 2 == 0) model.step_after = pipeline::StepAfter::model;
    if (drawn / 2 % 2 == 0) model.step_before = pipeline::StepBefore::replicas;
  }

  std::uint64_t state_;
  const RandomProblemOptions& options_;
};

}  // namespace

std::int64_t count_split_ops(const Problem& problem) {
  std::int64_t count = pipeline::count_ops(problem);
  for (const Model& model : problem.models)
    if (model.split())
      count += static_cast<std::int64_t>(model.replicas.size()) * model.stages() * model.total_microbatches();
  return count;
}

Problem random_problem(std::uint64_t seed, const RandomProblemOptions& options) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    Problem problem = ProblemMaker(base::scatter(seed) + attempt, options).make();
    if (options.max_ops && count_split_ops(problem) > *options.max_ops) continue;
    DOVETAIL_ASSERT(!pipeline::find_fault(problem));
    return problem;
  }
}

rc::Gen<Problem> problems(const RandomProblemOptions& options) {
  return rc::gen::noShrink(rc::gen::map(rc::gen::arbitrary<std::uint64_t>(),
                                        [options](std::uint64_t seed) { return random_problem(seed, options); }));
}

}  // namespace dovetail::test
