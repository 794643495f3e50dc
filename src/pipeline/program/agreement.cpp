#include "pipeline/program/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace dovetail::pipeline {
namespace {

using Fault = std::optional<ProgramFault>;

Fault fault_of(int rank, std::string message) { return ProgramFault{std::move(message), rank, std::nullopt}; }

Fault find_other_models(std::span<const Program> programs) {
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const Program& program = programs[rank];
    if (program.rank != static_cast<int>(rank))
      return fault_of(program.rank, fmt::format("its place is that of rank {}", rank));
    if (program.ranks != static_cast<int>(programs.size()))
      return fault_of(program.rank,
                      fmt::format("it is of {} ranks; there are programs of {}", program.ranks, programs.size()));
    if (program.problem != programs.front().problem || program.models != programs.front().models)
      return fault_of(program.rank, "it is of another problem than rank 0");
  }
  return std::nullopt;
}

/// A stage of a replica, and a message on its way to it.
using StageKey = std::tuple<ModelId, ReplicaId, StageId>;
using MessageKey = std::tuple<StageKey, bool, MicrobatchId>;

StageKey key_of(const ProgramStage& stage) { return {stage.model, stage.replica, stage.stage}; }

/// [stage] who computes it; a fault where ranks differ about that, or nobody does.
Fault find_stages(std::span<const Program> programs, std::map<StageKey, std::vector<int>>& holders) {
  std::map<StageKey, std::set<int>> named;
  for (const Program& program : programs)
    for (const ProgramStage& stage : program.stages) {
      const auto [known, is_new] = holders.try_emplace(key_of(stage), stage.ranks);
      if (!is_new && known->second != stage.ranks)
        return fault_of(program.rank, fmt::format("stage {} of {} is of other ranks elsewhere", stage.stage.value,
                                                  program.models[stage.model.index()].name));
      if (!named[key_of(stage)].insert(program.rank).second)
        return fault_of(program.rank, fmt::format("stage {} of {} is there twice", stage.stage.value,
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
              0, fmt::format("nobody computes all of stage {} of {}, replica {}", stage, models[m].name, replica));
      }
  return std::nullopt;
}

/// What a rank's message is, as its receiver has it.
MessageKey key_of(const Program& program, const Message& message, bool sends) {
  const ProgramStage& own = program.stages[static_cast<std::size_t>(message.stage)];
  StageId stage = own.stage;
  if (sends) stage.value += message.forward ? 1 : -1;
  return {{own.model, own.replica, stage}, message.forward, message.microbatch};
}

Fault find_lost_messages(std::span<const Program> programs) {
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
        return fault_of(program.rank, fmt::format("{} is another for its sender", name));
      sent.erase(found);
    }
  if (sent.empty()) return std::nullopt;
  const auto& [channel, sequence] = sent.begin()->first;
  return fault_of(channel.second, fmt::format("message {} from rank {} is never received", sequence, channel.first));
}

/// A reduction as all of its ranks have it.
using ReductionKey = std::tuple<ReductionKind, ModelId, int, int, std::vector<int>>;

ReductionKey key_of(const Program& program, const Reduction& reduction) {
  const int stage = reduction.stage < 0 ? -1 : program.stages[static_cast<std::size_t>(reduction.stage)].stage.value;
  return {reduction.kind, reduction.model, reduction.minibatch, stage, reduction.ranks};
}

Fault find_lonely_reductions(std::span<const Program> programs,
                             std::map<int, std::pair<ReductionKey, std::size_t>>& reductions) {
  for (const Program& program : programs)
    for (const Reduction& reduction : program.reductions) {
      const auto [known, is_new] = reductions.try_emplace(reduction.number, key_of(program, reduction), 0);
      if (known->second.first != key_of(program, reduction))
        return fault_of(program.rank, fmt::format("reduction {} is another for other ranks", reduction.number));
      ++known->second.second;
    }
  for (const auto& [number, entry] : reductions)
    if (const std::vector<int>& ranks = std::get<4>(entry.first); ranks.size() != entry.second)
      return fault_of(ranks.front(),
                      fmt::format("reduction {} is of {} ranks, and {} have it", number, ranks.size(), entry.second));
  return std::nullopt;
}

/// Replicas of a stage on several ranks whose gradients nobody sums up before their step.
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
            return fault_of(*ranks.begin(), fmt::format("the gradients of stage {} of {} are not summed up over its "
                                                        "replicas in mini-batch {}",
                                                        stage, models[m].name, k));
      }
    }
  return std::nullopt;
}

}  // namespace

std::optional<ProgramFault> find_disagreement(std::span<const Program> programs) {
  if (Fault fault = find_other_models(programs)) return fault;
  std::map<StageKey, std::vector<int>> holders;
  if (Fault fault = find_stages(programs, holders)) return fault;
  if (Fault fault = find_lost_messages(programs)) return fault;
  std::map<int, std::pair<ReductionKey, std::size_t>> reductions;
  if (Fault fault = find_lonely_reductions(programs, reductions)) return fault;
  return find_unsummed(programs, holders, reductions);
}

}  // namespace dovetail::pipeline
