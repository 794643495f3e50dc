// Models of a run on several ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/models.h"
#include "control/ranks/rank_exchange.h"
#include "execute/interpreter.h"
#include "llm/layout.h"
#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/schedule.h"
#include "predict/closed_form/scenario.h"
#include "records/training_phases.h"
#include "runtime/model/weights.h"
#include "runtime/run/phase_programs.h"
#include "runtime/run/rank_usage.h"
#include "runtime/run/torch_models.h"
#include "runtime/training/optimizer.h"
#include "transport/collectives.h"

namespace dovetail::runtime {

/// The stages of a trained role that this rank holds. All belong to one replica, whose ranks together hold the whole
/// model.
struct RankStages {
  std::vector<StageState> states;  ///< stages on this rank
  std::vector<LayerRange> layers;  ///< [stage] layers of the stage
  std::vector<int> ranks;          ///< [stage] rank that holds the stage in this rank's replica

  bool are_whole_model() const { return layers.size() == 1; }
};

/// Creates this rank's stages of a model from the model's whole weights, with moments of 0. `model` is the model's
/// index in the program, and `layout` is the layout of its train task. A stage that is the whole model shares the
/// values of `full_weights`. REQUIRES: the rank has stages of exactly one replica.
RankStages cut_stages(Weights& full_weights, const pipeline::Program& program, std::size_t model,
                      const pipeline::ModelPlacement& placement, const llm::Layout& layout);

/// Copies the whole weights into the stages.
void take_values(RankStages& stages, const Weights& full_weights);

/// Returns the ranks of this rank's replica, ascending.
std::vector<int> ranks_of_replica(const RankStages& stages);

/// Fills the whole weights from the stages of all ranks of the replica. `collectives` must have opened the replica's
/// group. Must be called on all ranks.
base::Status gather_values(const RankStages& stages, Weights& full_weights, control::RankExchange& rank_exchange,
                           transport::Collectives& collectives);

/// Resources that the models of a rank use. References must outlive the models.
struct RankContext {
  control::RankExchange& rank_exchange;
  transport::Collectives& collectives;  ///< used for the reductions of training and to gather weights
  at::Device device = at::kCPU;
  execute::Guard guard = {};  ///< runs the work of training; null if that work does not throw
};

/// control::Models whose work is divided among ranks. The controllers of all ranks run in parallel, make the same calls
/// in the same order and get the same results. Each response or score is computed by one rank, which sends it to all
/// others. In a training phase, each rank runs its program.
///
/// Each rank holds the whole weights of every role, with one exception: while a role with several stages is trained,
/// the rank holds only its own stages of that role. If any rank receives a stop request, all ranks stop at the end of
/// the current phase. In a generation, the rank that received the request stops after its current engine step.
class RankModels final : public control::Models {
 public:
  /// All references must outlive the result. REQUIRES: the requirements of TorchModels; the plan is for the framework
  /// "dovetail" and for as many devices as there are ranks.
  static base::Result<std::unique_ptr<RankModels>> make(std::vector<RoleSetup> roles, std::int64_t cache_bytes,
                                                        const predict::Scenario& scenario, const plan::Plan& plan,
                                                        RankContext context);

  base::Result<std::vector<control::GeneratedResponse>> generate(
      const std::string& role, std::span<const control::GenerationRequest> requests,
      const control::GenerationSettings& settings, const parallel::Cancellation* cancellation,
      const std::function<void(std::size_t index, const control::GeneratedResponse&)>& on_response) override;
  base::Result<std::vector<control::Scores>> score(const std::string& role,
                                                   std::span<const control::TokenSequence> sequences,
                                                   const control::PassSettings& settings) override;
  base::Status train(std::span<const control::Training> trainings) override;
  void average(const std::string& role, const std::string& trained, double decay) override;
  /// Must be called on all ranks. All ranks use rank 0's `folder`.
  base::Status save(const std::string& folder) const override;
  base::Status load(const std::string& folder) override;
  base::Status export_role(const std::string& role, const std::string& folder) const override;
  base::Result<std::vector<control::RankUsage>> take_usage() override;
  std::int64_t parameters(const std::string& role) const override;

  /// Returns the current schedule of the fused train tasks, with the planned number of micro-batches. The schedule is
  /// solved again once, with the op times measured in the first few fused phases. Returns nullopt if the plan fuses no
  /// tasks.
  base::Result<std::optional<pipeline::Schedule>> fused_schedule();
  /// Returns the training phases that ran, with the measurements of all ranks. Empty except on rank 0.
  std::vector<records::TrainingPhase> measured_phases() const;
  /// Adds the memory of all roles on this rank to `account`.
  void add_held(MemoryAccount& account) const;

 private:
  /// Task of a trained role, and this rank's stages of its model.
  struct Trained {
    std::size_t task = 0;
    RankStages stages;
    std::int64_t elements = 0;  ///< number of elements in the whole weights
  };

  RankModels(std::vector<RoleSetup> roles, std::int64_t cache_bytes, const predict::Scenario& scenario,
             const plan::Plan& plan, RankContext context)
      : models_(std::move(roles), cache_bytes, Stepping::elsewhere, context.device),
        programs_(scenario, plan, context.rank_exchange.rank()),
        scenario_(scenario),
        plan_(plan),
        rank_exchange_(context.rank_exchange),
        collectives_(context.collectives),
        guard_(std::move(context.guard)),
        usage_(context.device) {}

  base::Status cut_phase(std::size_t task);
  base::Status open_channels(const pipeline::Program& program);
  base::Result<const PhaseProgram*> program_of(std::span<const control::Training> trainings);
  /// Returns the plan's tasks of these roles.
  std::vector<std::size_t> tasks_of(std::span<const control::Training> trainings) const;
  base::Result<execute::Trace> run_phase(const PhaseProgram& phase, std::span<const control::Training> trainings);
  /// After the first runs of fused tasks, solves their schedule again on all ranks from rank 0's measurements.
  base::Status find_order(const std::vector<std::size_t>& tasks);
  base::Status keep_times(const PhaseProgram& phase, const std::vector<std::size_t>& tasks,
                          const execute::Trace& trace);
  void release_full_weights(Trained& trained, const std::string& role);
  base::Status gather_full_weights(Trained& trained, const std::string& role);
  base::Status save_own(const std::string& folder) const;

  TorchModels models_;
  PhasePrograms programs_;
  const predict::Scenario& scenario_;
  const plan::Plan& plan_;
  control::RankExchange& rank_exchange_;
  transport::Collectives& collectives_;
  execute::Guard guard_;
  std::map<std::string, Trained> trained_;  // by role
  MeasuredPhases measured_;
  std::uint32_t phases_ = 0;  // number of phases run
  int fused_runs_ = 0;        // number of fused phases run
  UsageMeter usage_;          // usage of training; models_ counts the other tasks
};

}  // namespace dovetail::runtime
