#include "execute/waiting.h"

#include <array>
#include <span>
#include <thread>

#include "base/assert.h"
#include "transport/ordered.h"

namespace dovetail::execute {
namespace {

using base::Result;
using base::Status;
using base::Ticks;
using pipeline::OpKind;
using transport::Clock;

/// What the ops of a stage take, in ticks of the problem.
struct Durations {
  Ticks forward;
  Ticks backward;         ///< all of it, or the input gradient
  Ticks weight_gradient;  ///< 0 where it is not split
  Ticks step;

  Ticks of(OpKind op) const {
    switch (op) {
      case OpKind::F:
        return forward;
      case OpKind::B:
        return backward + weight_gradient;
      case OpKind::I:
        return backward;
      case OpKind::W:
        return weight_gradient;
      case OpKind::S:
        return step;
    }
    DOVETAIL_ASSERT(false);
  }
};

class WaitingStage : public Stage {
 public:
  WaitingStage(const Durations& durations, int parts, const Replay& replay)
      : durations_(durations), parts_(parts), replay_(replay) {}

  Buffer room(bool, MicrobatchId) override { return transport::make_buffer(replay_.message_bytes); }

  Result<Buffer> run(OpKind op, MicrobatchId, Buffer) override {
    // Stages that the problem has as one take turns in what hands something on, and do the rest beside each other.
    const bool in_turn = pipeline::traits_of(op).output != pipeline::OutputTo::nowhere;
    wait(durations_.of(op), in_turn ? parts_ : 1);
    return transport::make_buffer(replay_.message_bytes);
  }

  void free(MicrobatchId) override {}

  Status step(int) override {
    wait(durations_.step, 1);
    return {};
  }

 private:
  void wait(Ticks ticks, int parts) const {
    std::this_thread::sleep_until(Clock::now() + replay_.tick * ticks.count() / parts);
  }

  Durations durations_;
  int parts_;
  Replay replay_;
};

/// Sums one number a rank: who gets it knows that all others have started.
class MeetingReducer : public Reducer {
 public:
  Status reduce(const pipeline::Reduction& reduction, std::uint32_t number, transport::Transport& transport,
                transport::Deadline deadline) override {
    std::vector<float> ones(reduction.ranks.size(), 1);
    return transport::all_reduce(transport, {reduction.ranks, number}, std::span(ones), deadline);
  }
};

}  // namespace

WaitingWorkers::WaitingWorkers(const pipeline::Problem& problem, const pipeline::Placement& placement,
                               const pipeline::Program& program, const Replay& replay)
    : reducer_(std::make_unique<MeetingReducer>()) {
  for (const pipeline::ProgramStage& stage : program.stages) {
    const pipeline::Model& model = problem.models[stage.model.index()];
    const int parts = placement.models[stage.model.index()].parts;
    const std::size_t s = stage.stage.index() / static_cast<std::size_t>(parts);
    const Durations durations{model.forward[s], model.backward[s], model.split() ? model.weight_gradient[s] : Ticks(0),
                              model.step[s]};
    stages_.push_back(std::make_unique<WaitingStage>(durations, parts, replay));
    workers_.stages.push_back(stages_.back().get());
  }
  workers_.reducer = reducer_.get();
}

}  // namespace dovetail::execute
