// The models of a run on several ranks.
#pragma once

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
#include "control/ranks/rank_talk.h"
#include "execute/interpreter.h"
#include "pipeline/schedule/schedule.h"
#include "predict/closed_form/scenario.h"
#include "records/training_phases.h"
#include "runtime/run/measured_phases.h"
#include "runtime/run/phase_programs.h"
#include "runtime/run/rank_stages.h"
#include "runtime/run/torch_models.h"
#include "runtime/run/usage_meter.h"
#include "transport/collectives.h"

namespace dovetail::runtime {

/// A rank of a run, and what it computes on. What is referred to must stay.
struct RankContext {
  control::RankTalk& talk;
  transport::Collectives& collectives;  ///< by which trainings sum and gather
  at::Device device = at::kCPU;
  execute::Guard guard = {};  ///< of trainings; null: they throw nothing
};

/// control::Models of which each rank does its share. The controllers of all ranks run beside each other, ask for the
/// same things in the same order, and get the same answers: a response or score is computed by one rank and told to
/// all, a training phase is run by the ranks' programs.
///
/// Each rank has the whole weights of every role but while it trains; then, of a trained role with more than one stage,
/// its own stages alone. A rank that is asked to stop has all stop with it, once the phase under way is done.
class RankModels final : public control::Models {
 public:
  /// All references must stay. REQUIRES: as TorchModels; a plan that the framework "dovetail" runs, on as many devices
  /// as there are ranks.
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
  /// Called on all ranks, the folder by rank 0: the others hear of it.
  base::Status save(const std::string& folder) const override;
  base::Status load(const std::string& folder) override;
  base::Status export_role(const std::string& role, const std::string& folder) const override;
  base::Result<std::vector<control::RankUsage>> take_usage() override;
  std::int64_t parameters(const std::string& role) const override;

  /// The schedule of the trainings that the plan fuses, with as many micro-batches as it expects, in the order that
  /// they have now: it is solved again from the times of the first runs. Nothing where it fuses none.
  base::Result<std::optional<pipeline::Schedule>> fused_schedule();
  /// On rank 0: the phases of training that ran, with what all ranks measured.
  std::vector<records::TrainingPhase> measured_phases() const;
  /// Adds the bytes that all roles hold on this rank.
  void add_held(MemoryAccount& account) const;

 private:
  /// A trained role.
  struct Trained {
    std::size_t task = 0;
    RankStages stages;
    std::int64_t elements = 0;  ///< of the whole weights
  };

  RankModels(std::vector<RoleSetup> roles, std::int64_t cache_bytes, const predict::Scenario& scenario,
             const plan::Plan& plan, RankContext context)
      : whole_(std::move(roles), cache_bytes, Stepping::elsewhere, context.device),
        programs_(scenario, plan, context.talk.rank()),
        scenario_(scenario),
        plan_(plan),
        talk_(context.talk),
        collectives_(context.collectives),
        guard_(std::move(context.guard)),
        usage_(context.device) {}

  base::Status cut_phase(std::size_t task);
  base::Status open_ways(const pipeline::Program& program);
  base::Result<const PhaseProgram*> program_of(std::span<const control::Training> trainings);
  /// The plan's, of these roles.
  std::vector<std::size_t> tasks_of(std::span<const control::Training> trainings) const;
  base::Result<execute::Trace> run_phase(const PhaseProgram& phase, std::span<const control::Training> trainings);
  /// Behind the first runs of fused tasks: all ranks solve their schedule again from what rank 0 has measured.
  base::Status find_order(const std::vector<std::size_t>& tasks);
  base::Status keep_times(const PhaseProgram& phase, const std::vector<std::size_t>& tasks,
                          const execute::Trace& trace);
  void release_whole(Trained& trained, const std::string& role);
  base::Status gather_whole(Trained& trained, const std::string& role);
  base::Status save_own(const std::string& folder) const;

  TorchModels whole_;
  PhasePrograms programs_;
  const predict::Scenario& scenario_;
  const plan::Plan& plan_;
  control::RankTalk& talk_;
  transport::Collectives& collectives_;
  execute::Guard guard_;
  std::map<std::string, Trained> trained_;  // by role
  MeasuredPhases measured_;
  std::uint32_t phases_ = 0;  // that were run
  int fused_runs_ = 0;        // of them
  UsageMeter usage_;          // of trainings; whole_ counts the other tasks
};

}  // namespace dovetail::runtime
