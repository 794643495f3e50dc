// Programs of a rank's training phases, and their measured times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "base/result.h"
#include "execute/interpreter.h"
#include "execute/measured_times.h"
#include "execute/replay.h"
#include "pipeline/program/program.h"
#include "plan/plan.h"
#include "predict/closed_form/phase_schedule.h"
#include "predict/closed_form/scenario.h"
#include "records/training_phases.h"
#include "transport/transport.h"
#include "workflow/workflow.h"

namespace dovetail::runtime {

/// Schedule of a training phase for all ranks, and this rank's program.
struct PhaseProgram {
  predict::PhaseSchedule phase;
  pipeline::Program program;
  std::vector<pipeline::Program> all;  ///< programs of all ranks; empty except on rank 0
};

/// Compiles this rank's programs of training phases. Caches them by tasks and numbers of mini-batches and
/// micro-batches. Compiles the programs of fused tasks again once the times of their ops are measured. `scenario` and
/// `plan` must outlive this object.
class PhasePrograms {
 public:
  PhasePrograms(const predict::Scenario& scenario, const plan::Plan& plan, int rank)
      : scenario_(scenario), plan_(plan), rank_(rank) {}

  /// Returns `task` and, if the plan fuses it, its partner, in the order of the program's models.
  std::vector<std::size_t> phase_of(std::size_t task) const;
  /// Returns this rank's program of a phase. The pointer stays valid. `counts` is as in phase_schedule. Returns the
  /// errors of phase_schedule, reordered and compile.
  base::Result<const PhaseProgram*> find(const std::vector<std::size_t>& tasks,
                                         const std::vector<predict::PhaseCounts>& counts = {});
  /// Makes later programs of these fused tasks use a schedule for the `measured` times (predict::reordered). All ranks
  /// must pass the same times.
  void take_times(const std::vector<std::size_t>& tasks, execute::OpMedians measured);
  bool has_times(const std::vector<std::size_t>& tasks) const { return times_.contains(tasks); }

 private:
  struct Key {
    std::vector<std::size_t> tasks;
    std::vector<predict::PhaseCounts> counts;
    bool has_times = false;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  base::Result<PhaseProgram> make(const std::vector<std::size_t>& tasks,
                                  const std::vector<predict::PhaseCounts>& counts) const;

  const predict::Scenario& scenario_;
  const plan::Plan& plan_;
  int rank_;
  std::map<Key, PhaseProgram> programs_;
  std::map<std::vector<std::size_t>, execute::OpMedians> times_;  // by tasks
};

/// Measured times of the latest runs of each training phase. Used only on rank 0; empty on other ranks.
class MeasuredPhases {
 public:
  /// Adds the op times of one run of the phase that trains `tasks`. Each rank's times are on its own clock. `phase`
  /// must contain the programs of all ranks. It must stay valid until the next add() for the same tasks, or as long as
  /// this object.
  void add(const std::vector<std::size_t>& tasks, const PhaseProgram& phase, execute::ReplayTimes times);

  /// Returns each op's median time over the latest runs; empty for a phase without runs.
  execute::OpMedians medians(const std::vector<std::size_t>& tasks) const;

  /// Returns the phases that ran, for the run directory. Omits a phase if pipeline::find_fault rejects its
  /// problem with the measured times.
  std::vector<records::TrainingPhase> phases(const workflow::Workflow& workflow) const;

 private:
  struct Runs {
    const PhaseProgram* last = nullptr;
    execute::ReplayTimes last_times;
    std::deque<execute::OpMedians> latest;  // oldest first
  };
  std::map<std::vector<std::size_t>, Runs> runs_;  // by tasks
};

/// Gathers the times of all ranks' traces on rank 0. Other ranks get an empty result. Each rank's times count from its
/// `origin`. `programs` holds the programs of all ranks and is needed only on rank 0. `number` is as in
/// control_address.
base::Result<execute::ReplayTimes> gather_times(transport::Transport& transport,
                                                std::span<const pipeline::Program> programs, const execute::Trace& own,
                                                transport::Clock::time_point origin, std::uint32_t number,
                                                transport::Deadline deadline);

}  // namespace dovetail::runtime
