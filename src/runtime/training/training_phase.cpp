#include "runtime/training/training_phase.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "runtime/training/rank_role.h"
#include "runtime/training/torch_reducer.h"
#include "runtime/training/torch_stage.h"

namespace dovetail::runtime {
namespace {

using pipeline::Program;

/// What runs a program on this rank.
class PhaseWorkers {
 public:
  PhaseWorkers(const Program& program, std::span<const PhaseRole> roles, bool carries_device_memory) {
    DOVETAIL_ASSERT(roles.size() == program.models.size());
    for (std::size_t m = 0; m < roles.size(); ++m) add_role(program.models[m], roles[m]);
    std::vector<StageState*> states;
    for (const pipeline::ProgramStage& stage : program.stages) {
      states.push_back(&state_of(stage, *roles[stage.model.index()].states));
      stages_.push_back(
          std::make_unique<TorchStage>(*states.back(), *roles_[stage.model.index()], carries_device_memory));
    }
    std::vector<RankRole*> pointers;
    for (const auto& role : roles_) pointers.push_back(role.get());
    reducer_ = std::make_unique<TorchReducer>(std::move(pointers), std::move(states));
  }

  execute::Workers workers() const {
    execute::Workers all{{}, reducer_.get()};
    for (const auto& stage : stages_) all.stages.push_back(stage.get());
    return all;
  }

  std::vector<std::vector<MiniBatchResult>> results() const {
    std::vector<std::vector<MiniBatchResult>> all;
    for (const auto& role : roles_) {
      std::vector<MiniBatchResult>& own = all.emplace_back();
      for (std::size_t k = 0; role != nullptr && k < role->training.minibatches(); ++k)
        own.push_back(role->training.result(k));
    }
    return all;
  }

 private:
  void add_role(const pipeline::ProgramModel& model, const PhaseRole& role) {
    DOVETAIL_ASSERT(role.training->mini_batches.size() == static_cast<std::size_t>(model.minibatches));
    roles_.emplace_back();
    if (role.states->empty()) return;
    std::vector<StageState*> states;
    for (StageState& state : *role.states) states.push_back(&state);
    roles_.back() = std::make_unique<RankRole>(*role.training, static_cast<std::size_t>(model.replicas),
                                               static_cast<std::size_t>(model.microbatches), std::move(states));
  }

  static StageState& state_of(const pipeline::ProgramStage& stage, std::vector<StageState>& states) {
    const auto found = std::find_if(states.begin(), states.end(), [&](const StageState& state) {
      return state.replica == stage.replica.index() && state.stage == stage.stage.index();
    });
    DOVETAIL_ASSERT(found != states.end());
    return *found;
  }

  std::vector<std::unique_ptr<RankRole>> roles_;  // [model]
  std::vector<std::unique_ptr<TorchStage>> stages_;
  std::unique_ptr<TorchReducer> reducer_;
};

}  // namespace

base::Result<PhaseResult> run_training_phase(const Program& program, std::span<const PhaseRole> roles,
                                             transport::Transport& transport, const execute::RunOptions& options) {
  const PhaseWorkers workers(program, roles, transport.carries_device_memory());
  DOVETAIL_TRY(execute::Trace trace, execute::run(program, workers.workers(), transport, options));
  return PhaseResult{std::move(trace), workers.results()};
}

}  // namespace dovetail::runtime
