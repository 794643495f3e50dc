#include "execute/waiting.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <thread>

#include "base/assert.h"
#include "transport/collectives.h"

namespace dovetail::execute {
namespace {

using base::Result;
using base::Status;
using base::Ticks;
using pipeline::OpKind;

/// Durations of a stage's ops and transfers.
struct StageTimes {
  std::array<Clock::duration, pipeline::op_kinds> op{};  ///< [kind]
  Clock::duration activation{};                          ///< transfer time from the previous stage
  Clock::duration gradient{};                            ///< transfer time from the next stage
};

class WaitingStage : public Stage {
 public:
  WaitingStage(const StageTimes& times, std::size_t message_bytes, Pace& pace)
      : times_(times), message_bytes_(std::max(message_bytes, sizeof(Moment))), pace_(pace) {}

  Buffer receive_buffer(bool, MicrobatchId) override { return transport::make_buffer(message_bytes_); }

  void arrived(bool forward, MicrobatchId, const Buffer& message) override {
    Moment made;
    std::memcpy(&made, message.data, sizeof made);
    pace_.arrive(made, forward ? times_.activation : times_.gradient);
  }

  Result<Buffer> run(OpKind op, MicrobatchId, Buffer) override {
    const Moment made = pace_.run(times_.op[static_cast<std::size_t>(op)]);
    Buffer output = transport::make_buffer(message_bytes_);
    std::memcpy(output.data, &made, sizeof made);
    return output;
  }

  void free(MicrobatchId) override {}

  Status step(int) override {
    pace_.run(times_.op[static_cast<std::size_t>(OpKind::S)]);
    return {};
  }

 private:
  StageTimes times_;
  std::size_t message_bytes_;
  Pace& pace_;
};

/// Sums one number per rank. A rank that has the sum knows that all others have started.
class MeetingReducer : public Reducer {
 public:
  explicit MeetingReducer(Pace& pace) : pace_(pace) {}

  Status reduce(const pipeline::Reduction& reduction, std::uint32_t number, transport::Collectives& collectives,
                transport::Deadline deadline) override {
    std::vector<float> ones(reduction.ranks.size(), 1);
    DOVETAIL_CHECK(collectives.all_reduce({reduction.ranks, number}, std::span(ones), deadline));
    pace_.meet();
    return {};
  }

 private:
  Pace& pace_;
};

/// Returns the duration of an op in ticks.
Ticks duration_of(const pipeline::Model& model, OpKind op, std::size_t stage) {
  if (!pipeline::traits_of(op).is_in(model)) return {};
  return op == OpKind::B ? model.whole_backward(stage) : (model.*pipeline::traits_of(op).duration)[stage];
}

/// `parts` stages of the ranks make up one problem stage. Ops with an output run on them in turn; other ops run
/// concurrently.
StageTimes times_of(const pipeline::Model& model, const pipeline::ProgramStage& stage, int parts,
                    Clock::duration tick) {
  const std::size_t own = stage.stage.index() / static_cast<std::size_t>(parts);
  StageTimes times;
  for (const pipeline::OpTraits& traits : pipeline::op_table) {
    const int turns = traits.output == pipeline::OutputTo::nowhere ? 1 : parts;
    times.op[static_cast<std::size_t>(traits.kind)] = tick * duration_of(model, traits.kind, own).count() / turns;
  }
  // Each group of the placement repeats the problem's replicas.
  const base::ReplicaId replica(stage.replica.index() % model.replicas.size());
  const auto transfer_from = [&](int neighbour) {
    if (neighbour < 0 || neighbour / parts >= model.stages() || neighbour / parts == static_cast<int>(own))
      return Clock::duration();
    return tick *
           pipeline::transfer_between(model, replica, base::StageId(neighbour / parts), base::StageId(own)).count();
  };
  times.activation = transfer_from(stage.stage.value - 1);
  times.gradient = transfer_from(stage.stage.value + 1);
  return times;
}

}  // namespace

WaitingWorkers::WaitingWorkers(const pipeline::Problem& problem, const pipeline::Placement& placement,
                               const pipeline::Program& program, const Replay& replay)
    : pace_(std::make_unique<Pace>()), reducer_(std::make_unique<MeetingReducer>(*pace_)) {
  for (const pipeline::ProgramStage& stage : program.stages) {
    const StageTimes times =
        times_of(problem.models[stage.model.index()], stage, placement.models[stage.model.index()].parts, replay.tick);
    stages_.push_back(std::make_unique<WaitingStage>(times, replay.message_bytes, *pace_));
    workers_.stages.push_back(stages_.back().get());
  }
  workers_.reducer = reducer_.get();
}

Moment Pace::run(Clock::duration length) {
  const Clock::time_point now = Clock::now();
  const Clock::time_point met{Clock::duration(met_)};
  ready(met, met);
  due_ += now - there_ + length;
  sleep_until_due();
  return {due_, there_ - due_};
}

void Pace::arrive(const Moment& made, Clock::duration transfer) {
  const Clock::time_point usable = made.due + transfer;
  if (Clock::now() >= usable) return ready(usable, std::max(usable, made.due + made.late));
  due_ = usable;
  sleep_until_due();
}

void Pace::ready(Clock::time_point due, Clock::time_point there) {
  due_ = std::max(due_, due);
  there_ = std::max(there_, there);
}

void Pace::sleep_until_due() {
  std::this_thread::sleep_until(due_);
  there_ = Clock::now();
}

}  // namespace dovetail::execute
