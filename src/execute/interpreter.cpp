#include "execute/interpreter.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace dovetail::execute {
namespace {

using base::Result;
using base::Status;
using pipeline::Code;
using pipeline::Instruction;
using pipeline::Message;
using pipeline::OpKind;
using pipeline::Program;
using transport::Address;
using transport::Clock;
using transport::Lane;

/// Exceeds the number of messages of a channel, and of reductions, in one run.
constexpr std::uint32_t numbers_per_run = 1U << 20;

/// A thread that carries out a rank's reductions in the order in which they are started. Stops after an error.
class ReductionQueue {
 public:
  /// `carry_out(index)` carries out one of `count` reductions.
  ReductionQueue(std::size_t count, std::function<Status(std::size_t)> carry_out);
  /// Waits for the reduction in progress and drops those that have not begun.
  ~ReductionQueue();
  ReductionQueue(const ReductionQueue&) = delete;
  ReductionQueue& operator=(const ReductionQueue&) = delete;

  void start(std::size_t index);
  /// Waits until the reduction is done, and returns the error that ended the queue if there is one.
  Status await(std::size_t index);

 private:
  void work();

  std::function<Status(std::size_t)> carry_out_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> started_;
  std::vector<bool> done_;
  Status status_;
  bool ends_ = false;
  std::thread thread_;
};

ReductionQueue::ReductionQueue(std::size_t count, std::function<Status(std::size_t)> carry_out)
    : carry_out_(std::move(carry_out)), done_(count) {
  if (count > 0) thread_ = std::thread([this] { work(); });
}

ReductionQueue::~ReductionQueue() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void ReductionQueue::start(std::size_t index) {
  const std::lock_guard lock(mutex_);
  started_.push_back(index);
  changed_.notify_all();
}

Status ReductionQueue::await(std::size_t index) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_[index] || !status_.ok(); });
  return status_;
}

void ReductionQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !started_.empty(); });
    if (ends_ || !status_.ok()) return;
    const std::size_t index = started_.front();
    started_.pop_front();
    lock.unlock();
    Status status = carry_out_(index);
    lock.lock();
    status_ = std::move(status);
    done_[index] = true;
    changed_.notify_all();
  }
}

class Interpreter {
 public:
  Interpreter(const Program& program, const Workers& workers, transport::Transport& transport,
              const RunOptions& options)
      : program_(program),
        workers_(workers),
        transport_(transport),
        ordered_(transport),
        collectives_(options.collectives != nullptr ? *options.collectives : ordered_),
        options_(options),
        reductions_(program.reductions.size(), [this](std::size_t index) { return reduce(index); }) {}

  Result<Trace> run() {
    Trace trace;
    trace.instructions.reserve(program_.code.size());
    DOVETAIL_CHECK(guarded([&] { return follow_all(trace); }));
    return trace;
  }

 private:
  /// Key of an activation (true) or gradient: the stage that takes or made it, and its micro-batch.
  using Item = std::tuple<int, bool, MicrobatchId>;

  Status guarded(const std::function<Status()>& work) const { return options_.guard ? options_.guard(work) : work(); }

  Status follow_all(Trace& trace) {
    for (const Instruction& instruction : program_.code) {
      const Clock::time_point begin = Clock::now();
      DOVETAIL_CHECK(follow(instruction));
      trace.instructions.push_back({begin, Clock::now()});
    }
    return transport_.flush(Lane::programs, deadline());
  }

  transport::Deadline deadline() const { return Clock::now() + options_.timeout; }

  Address address(const Message& message) const {
    return {message.peer, Lane::programs,
            options_.run * numbers_per_run + static_cast<std::uint32_t>(message.sequence)};
  }

  Stage& stage(int index) const { return *workers_.stages[static_cast<std::size_t>(index)]; }

  Status follow(const Instruction& instruction) {
    const auto target = static_cast<std::size_t>(instruction.target);
    switch (instruction.code) {
      case Code::receive:
        return post(program_.messages[target]);
      case Code::wait:
        return wait(program_.messages[target]);
      case Code::run:
        return run_op(instruction);
      case Code::send:
        return send(program_.messages[target]);
      case Code::free:
        stage(instruction.target).free(instruction.microbatch);
        return {};
      case Code::reduce:
        reductions_.start(target);
        return {};
      case Code::await:
        break;
    }
    return reductions_.await(target);
  }

  Status post(const Message& message) {
    const Buffer buffer = stage(message.stage).receive_buffer(message.forward, message.microbatch);
    inputs_[{message.stage, message.forward, message.microbatch}] = buffer;
    transport_.receive(address(message), buffer);
    return {};
  }

  Status wait(const Message& message) {
    DOVETAIL_CHECK(transport_.wait(address(message), deadline()));
    const auto found = inputs_.find({message.stage, message.forward, message.microbatch});
    DOVETAIL_ASSERT(found != inputs_.end());
    stage(message.stage).arrived(message.forward, message.microbatch, found->second);
    return {};
  }

  Status send(const Message& message) {
    const auto made = outputs_.find({message.stage, message.forward, message.microbatch});
    DOVETAIL_ASSERT(made != outputs_.end());
    transport_.send(address(message), std::move(made->second));
    outputs_.erase(made);
    return {};
  }

  Status run_op(const Instruction& op) {
    if (op.op == OpKind::S) return stage(op.target).step(op.microbatch.value);
    const bool forward = op.op == OpKind::F;
    Buffer input;
    if (pipeline::takes_input(program_, op)) {
      const auto found = inputs_.find({op.target, forward, op.microbatch});
      DOVETAIL_ASSERT(found != inputs_.end());
      input = std::move(found->second);
      inputs_.erase(found);
    }
    DOVETAIL_TRY(Buffer output, stage(op.target).run(op.op, op.microbatch, std::move(input)));
    if (!pipeline::makes_output(program_, op)) return {};
    if (const auto consumer = pipeline::local_consumer(program_, op))
      inputs_[{*consumer, forward, op.microbatch}] = std::move(output);
    else
      outputs_[{op.target, forward, op.microbatch}] = std::move(output);
    return {};
  }

  Status reduce(std::size_t index) {
    const pipeline::Reduction& reduction = program_.reductions[index];
    const std::uint32_t number = options_.run * numbers_per_run + static_cast<std::uint32_t>(reduction.number);
    Status status = guarded([&] { return workers_.reducer->reduce(reduction, number, collectives_, deadline()); });
    if (!status.ok()) transport_.fail(status.error());
    return status;
  }

  const Program& program_;
  const Workers& workers_;
  transport::Transport& transport_;
  transport::OrderedCollectives ordered_;
  transport::Collectives& collectives_;
  const RunOptions& options_;
  std::map<Item, Buffer> inputs_;
  std::map<Item, Buffer> outputs_;
  ReductionQueue reductions_;
};

}  // namespace

std::vector<transport::Channel> channels_of(const Program& program) {
  std::set<transport::Channel> channels;
  for (const Instruction& instruction : program.code) {
    if (instruction.code != Code::send && instruction.code != Code::receive) continue;
    const int peer = program.messages[static_cast<std::size_t>(instruction.target)].peer;
    channels.insert(instruction.code == Code::send ? transport::Channel{program.rank, peer}
                                                   : transport::Channel{peer, program.rank});
  }
  return {channels.begin(), channels.end()};
}

Result<Trace> run(const Program& program, const Workers& workers, transport::Transport& transport,
                  const RunOptions& options) {
  DOVETAIL_ASSERT(workers.stages.size() == program.stages.size());
  DOVETAIL_ASSERT(workers.reducer != nullptr || program.reductions.empty());
  Interpreter interpreter(program, workers, transport, options);
  Result<Trace> trace = interpreter.run();
  if (!trace.ok()) transport.fail(trace.error());
  return trace;
}

}  // namespace dovetail::execute
