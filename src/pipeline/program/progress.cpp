#include "pipeline/program/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

namespace dovetail::pipeline {
namespace {

/// The messages from one rank to another.
struct Channel {
  std::vector<bool> sent;     ///< [sequence]
  std::vector<bool> posted;   ///< [sequence]
  std::size_t delivered = 0;  ///< of rendezvous in order: all before it are
};

/// Runs all programs as far as they go.
class Run {
 public:
  Run(std::span<const Program> programs, Delivery delivery)
      : programs_(programs), delivery_(delivery), next_(programs.size()), started_(programs.size()) {
    for (std::size_t rank = 0; rank < programs.size(); ++rank) ready_.push_back(rank);
  }

  std::optional<ProgramFault> run() {
    while (!ready_.empty()) {
      const std::size_t rank = ready_.front();
      ready_.pop_front();
      advance(rank);
    }
    for (std::size_t rank = 0; rank < programs_.size(); ++rank)
      if (next_[rank] < programs_[rank].code.size())
        return ProgramFault{"the ranks wait for each other: " + why(rank), static_cast<int>(rank), next_[rank]};
    return std::nullopt;
  }

 private:
  void advance(std::size_t rank) {
    const Program& program = programs_[rank];
    for (; next_[rank] < program.code.size(); ++next_[rank]) {
      const Instruction& instruction = program.code[next_[rank]];
      const auto target = static_cast<std::size_t>(instruction.target);
      if (instruction.code == Code::wait && !is_delivered(program, program.messages[target])) return;
      if (instruction.code == Code::await && !done_.contains(program.reductions[target].number)) return;
      if (instruction.code == Code::send)
        mark(channel_to(program, program.messages[target]).sent, program.messages[target],
             program.messages[target].peer);
      if (instruction.code == Code::receive)
        mark(channel_from(program, program.messages[target]).posted, program.messages[target], program.rank);
      if (instruction.code == Code::reduce) start(rank, program.reductions[target]);
    }
  }

  Channel& channel_to(const Program& program, const Message& message) {
    return channels_[{program.rank, message.peer}];
  }
  Channel& channel_from(const Program& program, const Message& message) {
    return channels_[{message.peer, program.rank}];
  }

  /// Marks a message, and lets its receiver look again.
  void mark(std::vector<bool>& marks, const Message& message, int receiver) {
    const auto sequence = static_cast<std::size_t>(message.sequence);
    if (marks.size() <= sequence) marks.resize(sequence + 1);
    marks[sequence] = true;
    ready_.push_back(static_cast<std::size_t>(receiver));
  }

  bool is_delivered(const Program& program, const Message& message) {
    Channel& channel = channel_from(program, message);
    const auto sequence = static_cast<std::size_t>(message.sequence);
    const auto has = [](const std::vector<bool>& marks, std::size_t i) { return i < marks.size() && marks[i]; };
    if (delivery_ == Delivery::buffered) return has(channel.sent, sequence);
    if (delivery_ == Delivery::rendezvous_by_tag) return has(channel.sent, sequence) && has(channel.posted, sequence);
    while (has(channel.sent, channel.delivered) && has(channel.posted, channel.delivered)) ++channel.delivered;
    return sequence < channel.delivered;
  }

  /// Starts a reduction on a rank, and ends all that are now the next on each of their ranks.
  void start(std::size_t rank, const Reduction& reduction) {
    started_[rank].push_back(reduction.number);
    ranks_.try_emplace(reduction.number, reduction.ranks);
    std::vector<std::size_t> changed{rank};
    while (!changed.empty()) {
      const std::size_t own = changed.back();
      changed.pop_back();
      if (started_[own].empty()) continue;
      const int number = started_[own].front();
      const std::vector<int>& ranks = ranks_.at(number);
      const bool is_next = std::all_of(ranks.begin(), ranks.end(), [&](int other) {
        const std::deque<int>& queue = started_[static_cast<std::size_t>(other)];
        return !queue.empty() && queue.front() == number;
      });
      if (!is_next) continue;
      done_.insert(number);
      for (const int other : ranks) {
        started_[static_cast<std::size_t>(other)].pop_front();
        changed.push_back(static_cast<std::size_t>(other));
        ready_.push_back(static_cast<std::size_t>(other));
      }
    }
  }

  std::string why(std::size_t rank) const {
    const Program& program = programs_[rank];
    const Instruction& instruction = program.code[next_[rank]];
    if (instruction.code == Code::await) {
      const Reduction& reduction = program.reductions[static_cast<std::size_t>(instruction.target)];
      return fmt::format("it awaits reduction {}, the {} of mini-batch {} of {}", reduction.number,
                         base::enum_name(reduction.kind), reduction.minibatch,
                         program.models[reduction.model.index()].name);
    }
    const Message& message = program.messages[static_cast<std::size_t>(instruction.target)];
    return fmt::format("it waits for message {} from rank {}, for {}", message.sequence, message.peer,
                       describe(program, message.stage, message.forward ? 'F' : 'B', message.microbatch));
  }

  std::span<const Program> programs_;
  Delivery delivery_;
  std::vector<std::size_t> next_;         ///< [rank] its next instruction
  std::vector<std::deque<int>> started_;  ///< [rank] reductions begun and not done
  std::deque<std::size_t> ready_;         ///< ranks that may be able to go on
  std::map<std::pair<int, int>, Channel> channels_;
  std::map<int, std::vector<int>> ranks_;  ///< of each reduction
  std::set<int> done_;                     ///< reductions
};

}  // namespace

std::optional<ProgramFault> find_deadlock(std::span<const Program> programs, Delivery delivery) {
  return Run(programs, delivery).run();
}

}  // namespace dovetail::pipeline
