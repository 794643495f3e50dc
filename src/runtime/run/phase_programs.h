// The programs of a rank's training phases.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "base/result.h"
#include "execute/op_medians.h"
#include "pipeline/program/program.h"
#include "plan/plan.h"
#include "predict/closed_form/phase_schedule.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::runtime {

/// A phase: what all ranks do, and this rank's part.
struct PhaseProgram {
  predict::PhaseSchedule phase;
  pipeline::Program program;
  std::vector<pipeline::Program> all;  ///< of all ranks, on rank 0 alone
};

/// Compiled once for each count of mini-batches and micro-batches, and once more with measured times. Scenario and plan
/// must stay.
class PhasePrograms {
 public:
  PhasePrograms(const predict::Scenario& scenario, const plan::Plan& plan, int rank)
      : scenario_(scenario), plan_(plan), rank_(rank) {}

  /// The train tasks of the plan that one phase has with `task`, in the order of the program's models.
  std::vector<std::size_t> phase_of(std::size_t task) const;
  /// This rank's program of a phase. `counts`: as phase_schedule. Errors of that and of compile. It stays.
  base::Result<const PhaseProgram*> find(const std::vector<std::size_t>& tasks,
                                         const std::vector<predict::PhaseCounts>& counts = {});
  /// From now on fused tasks are in the order that `measured` times ask for (predict::reordered). The same on all
  /// ranks.
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
  std::map<std::vector<std::size_t>, execute::OpMedians> times_;  // of tasks
};

}  // namespace dovetail::runtime
