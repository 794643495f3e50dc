#include "pipeline/program/check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace dovetail::pipeline {
namespace {

constexpr std::array<std::string_view, 3> delivery_names{"buffered", "rendezvous by tag", "rendezvous in order"};

using Fault = std::optional<ProgramFault>;

Fault fault_of(int rank, std::string message) { return ProgramFault{std::move(message), rank, std::nullopt}; }

Fault find_other_models(std::span<const Program> programs) {
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const Program& program = programs[rank];
    if (program.rank != static_cast<int>(rank))
      return fault_of(program.rank,
                      fmt::format("the program is listed as rank {}; programs must be in rank order", rank));
    if (program.ranks != static_cast<int>(programs.size()))
      return fault_of(program.rank, fmt::format("the program is for {} ranks; there are {} programs", program.ranks,
                                                programs.size()));
    if (program.problem != programs.front().problem || program.models != programs.front().models)
      return fault_of(program.rank, "the program of rank 0 is for a different problem");
  }
  return std::nullopt;
}

/// Identifies a stage of a replica, and a message sent to it.
using StageKey = std::tuple<ModelId, ReplicaId, StageId>;
using MessageKey = std::tuple<StageKey, bool, MicrobatchId>;

StageKey key_of(const ProgramStage& stage) { return {stage.model, stage.replica, stage.stage}; }

/// Collects the ranks of each stage. Returns a fault if ranks disagree about them or a stage is incomplete.
Fault find_stages(std::span<const Program> programs, std::map<StageKey, std::vector<int>>& holders) {
  std::map<StageKey, std::set<int>> named;
  for (const Program& program : programs)
    for (const ProgramStage& stage : program.stages) {
      const auto [known, is_new] = holders.try_emplace(key_of(stage), stage.ranks);
      if (!is_new && known->second != stage.ranks)
        return fault_of(program.rank, fmt::format("stage {} of {} has different ranks in other programs",
                                                  stage.stage.value, program.models[stage.model.index()].name));
      if (!named[key_of(stage)].insert(program.rank).second)
        return fault_of(program.rank, fmt::format("stage {} of {} appears twice", stage.stage.value,
                                                  program.models[stage.model.index()].name));
    }
  const std::vector<ProgramModel>& models = programs.front().models;
  for (std::size_t m = 0; m < models.size(); ++m)
    for (int replica = 0; replica < models[m].replicas; ++replica)
      for (int stage = 0; stage < models[m].stages; ++stage) {
        const StageKey key{ModelId(m), ReplicaId(replica), StageId(stage)};
        const auto holder = holders.find(key);
        const bool is_whole =
            holder != holders.end() && std::set<int>(holder->second.begin(), holder->second.end()) == named[key];
        if (!is_whole || holder->second.size() != holders.at({ModelId(m), ReplicaId(0), StageId(0)}).size())
          return fault_of(
              0, fmt::format("stage {} of {}, replica {}, has missing ranks, or not as many as stage 0 of replica 0",
                             stage, models[m].name, replica));
      }
  return std::nullopt;
}

/// Identifies a message from the receiver's point of view.
MessageKey key_of(const Program& program, const Message& message, bool sends) {
  const ProgramStage& own = program.stages[static_cast<std::size_t>(message.stage)];
  StageId stage = own.stage;
  if (sends) stage.value += message.forward ? 1 : -1;
  return {{own.model, own.replica, stage}, message.forward, message.microbatch};
}

Fault find_unmatched_messages(std::span<const Program> programs) {
  using Channel = std::pair<int, int>;
  std::map<std::pair<Channel, int>, std::pair<MessageKey, std::int64_t>> sent;
  std::vector<std::vector<bool>> sends;
  for (const Program& program : programs) {
    std::vector<bool>& is_sent = sends.emplace_back(program.messages.size());
    for (const Instruction& instruction : program.code)
      if (instruction.code == Code::send) is_sent[static_cast<std::size_t>(instruction.target)] = true;
    for (std::size_t i = 0; i < program.messages.size(); ++i) {
      const Message& message = program.messages[i];
      if (is_sent[i])
        sent[{{program.rank, message.peer}, message.sequence}] = {key_of(program, message, true), message.bytes};
    }
  }
  for (const Program& program : programs)
    for (std::size_t i = 0; i < program.messages.size(); ++i) {
      const Message& message = program.messages[i];
      if (sends[static_cast<std::size_t>(program.rank)][i]) continue;
      const auto found = sent.find({{message.peer, program.rank}, message.sequence});
      const std::string name = fmt::format("message {} from rank {}", message.sequence, message.peer);
      if (found == sent.end()) return fault_of(program.rank, fmt::format("{} is never sent", name));
      if (found->second != std::pair(key_of(program, message, false), message.bytes))
        return fault_of(program.rank, fmt::format("{} differs from the message that its sender sends", name));
      sent.erase(found);
    }
  if (sent.empty()) return std::nullopt;
  const auto& [channel, sequence] = sent.begin()->first;
  return fault_of(channel.second, fmt::format("message {} from rank {} is never received", sequence, channel.first));
}

/// Identifies a reduction across all of its ranks.
using ReductionKey = std::tuple<ReductionKind, ModelId, int, int, std::vector<int>>;

ReductionKey key_of(const Program& program, const Reduction& reduction) {
  const int stage = reduction.stage < 0 ? -1 : program.stages[static_cast<std::size_t>(reduction.stage)].stage.value;
  return {reduction.kind, reduction.model, reduction.minibatch, stage, reduction.ranks};
}

Fault find_incomplete_reductions(std::span<const Program> programs,
                                 std::map<int, std::pair<ReductionKey, std::size_t>>& reductions) {
  for (const Program& program : programs)
    for (const Reduction& reduction : program.reductions) {
      const auto [known, is_new] = reductions.try_emplace(reduction.number, key_of(program, reduction), 0);
      if (known->second.first != key_of(program, reduction))
        return fault_of(program.rank,
                        fmt::format("reduction {} differs from the same reduction on other ranks", reduction.number));
      ++known->second.second;
    }
  for (const auto& [number, entry] : reductions)
    if (const std::vector<int>& ranks = std::get<4>(entry.first); ranks.size() != entry.second)
      return fault_of(ranks.front(),
                      fmt::format("reduction {} needs {} ranks, but {} take part", number, ranks.size(), entry.second));
  return std::nullopt;
}

/// Finds replicas of a stage on several ranks whose gradients are not summed before their step.
Fault find_unsummed(std::span<const Program> programs, const std::map<StageKey, std::vector<int>>& holders,
                    const std::map<int, std::pair<ReductionKey, std::size_t>>& reductions) {
  std::set<ReductionKey> present;
  for (const auto& entry : reductions) present.insert(entry.second.first);
  const std::vector<ProgramModel>& models = programs.front().models;
  for (std::size_t m = 0; m < models.size(); ++m)
    for (int stage = 0; models[m].has_steps && stage < models[m].stages; ++stage) {
      const std::size_t members = holders.at({ModelId(m), ReplicaId(0), StageId(stage)}).size();
      for (std::size_t member = 0; member < members; ++member) {
        std::set<int> ranks;
        for (int replica = 0; replica < models[m].replicas; ++replica)
          ranks.insert(holders.at({ModelId(m), ReplicaId(replica), StageId(stage)})[member]);
        for (int k = 0; ranks.size() > 1 && k < models[m].minibatches; ++k)
          if (!present.contains({ReductionKind::gradients, ModelId(m), k, stage, {ranks.begin(), ranks.end()}}))
            return fault_of(
                *ranks.begin(),
                fmt::format("the gradients of stage {} of {} are not summed over its replicas in mini-batch {}", stage,
                            models[m].name, k));
      }
    }
  return std::nullopt;
}

std::optional<ProgramFault> find_disagreement(std::span<const Program> programs) {
  if (Fault fault = find_other_models(programs)) return fault;
  std::map<StageKey, std::vector<int>> holders;
  if (Fault fault = find_stages(programs, holders)) return fault;
  if (Fault fault = find_unmatched_messages(programs)) return fault;
  std::map<int, std::pair<ReductionKey, std::size_t>> reductions;
  if (Fault fault = find_incomplete_reductions(programs, reductions)) return fault;
  return find_unsummed(programs, holders, reductions);
}

/// Messages from one rank to another.
struct Channel {
  std::vector<bool> sent;     ///< [sequence]
  std::vector<bool> posted;   ///< [sequence]
  std::size_t delivered = 0;  ///< for rendezvous in order: number of messages delivered
};

/// Runs all programs until they end or block.
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

  /// Marks a message and wakes its receiver.
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

  /// Starts a reduction on a rank, and ends all that are now next on each of their ranks.
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
      return fmt::format("this rank awaits reduction {} ({}, mini-batch {} of {})", reduction.number,
                         base::enum_name(reduction.kind), reduction.minibatch,
                         program.models[reduction.model.index()].name);
    }
    const Message& message = program.messages[static_cast<std::size_t>(instruction.target)];
    return fmt::format("this rank waits for message {} from rank {}, for {}", message.sequence, message.peer,
                       describe(program, message.stage, message.forward ? 'F' : 'B', message.microbatch));
  }

  std::span<const Program> programs_;
  Delivery delivery_;
  std::vector<std::size_t> next_;         ///< [rank] next instruction
  std::vector<std::deque<int>> started_;  ///< [rank] reductions that have started but not ended
  std::deque<std::size_t> ready_;         ///< ranks that may be able to continue
  std::map<std::pair<int, int>, Channel> channels_;
  std::map<int, std::vector<int>> ranks_;  ///< ranks by reduction
  std::set<int> done_;                     ///< reductions that have ended
};

std::optional<ProgramFault> find_deadlock(std::span<const Program> programs, Delivery delivery) {
  return Run(programs, delivery).run();
}

}  // namespace

std::string_view name_of(Delivery delivery) { return delivery_names[static_cast<std::size_t>(delivery)]; }

std::string describe(const ProgramFault& fault) {
  if (!fault.instruction) return fmt::format("rank {}: {}", fault.rank, fault.message);
  return fmt::format("rank {}, instruction {}: {}", fault.rank, *fault.instruction, fault.message);
}

std::optional<ProgramFault> check(std::span<const Program> programs, Delivery delivery) {
  for (const Program& program : programs)
    if (auto fault = check_tables(program)) return fault;
  for (const Program& program : programs)
    if (auto fault = check_rank(program)) return fault;
  if (programs.empty()) return std::nullopt;
  if (auto fault = find_disagreement(programs)) return fault;
  return find_deadlock(programs, delivery);
}

}  // namespace dovetail::pipeline
