// The programs of a rank's training phases.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "pipeline/program/program.h"
#include "plan/plan.h"
#include "predict/closed_form/phase_schedule.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::runtime {

/// A phase: what all ranks do, and this rank's part.
struct PhaseProgram {
  predict::PhaseSchedule phase;
  pipeline::Program program;
};

/// Compiled once for each count of mini-batches and micro-batches. Scenario and plan must stay.
class PhasePrograms {
 public:
  PhasePrograms(const predict::Scenario& scenario, const plan::Plan& plan, int rank)
      : scenario_(scenario), plan_(plan), rank_(rank) {}

  /// The train tasks of the plan that one phase has with `task`, in the order of the program's models.
  std::vector<std::size_t> phase_of(std::size_t task) const;
  /// This rank's program of a phase. `counts`: as phase_schedule. Errors of that and of compile. It stays.
  base::Result<const PhaseProgram*> find(const std::vector<std::size_t>& tasks,
                                         const std::vector<predict::PhaseCounts>& counts = {});

 private:
  base::Result<PhaseProgram> make(const std::vector<std::size_t>& tasks,
                                  const std::vector<predict::PhaseCounts>& counts) const;

  const predict::Scenario& scenario_;
  const plan::Plan& plan_;
  int rank_;
  std::map<std::pair<std::vector<std::size_t>, std::vector<predict::PhaseCounts>>, PhaseProgram> programs_;
};

}  // namespace dovetail::runtime
