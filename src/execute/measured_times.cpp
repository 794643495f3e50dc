#include "execute/measured_times.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace dovetail::execute {
namespace {

using base::Ticks;
using pipeline::OpTraits;

Ticks median(std::vector<Ticks> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

OpMedians medians_of(std::map<SameOps, std::vector<Ticks>> times) {
  OpMedians medians;
  for (auto& [ops, taken] : times) medians.emplace(ops, median(std::move(taken)));
  return medians;
}

/// Returns the duration of an op of a problem stage; nullopt if some of its `parts` stages were not measured.
std::optional<Ticks> time_of(const OpMedians& medians, SameOps ops, int parts) {
  const bool has_output = pipeline::traits_of(ops.kind).output != pipeline::OutputTo::nowhere;
  const int first = ops.stage.value * parts;
  Ticks sum;
  Ticks longest;
  for (int part = 0; part < parts; ++part) {
    ops.stage.value = first + part;
    const auto known = medians.find(ops);
    if (known == medians.end()) return std::nullopt;
    sum += known->second;
    longest = std::max(longest, known->second);
  }
  // Durations in a problem are at least one tick.
  return std::max(Ticks(1), has_output ? sum : longest);
}

/// Returns the kind of op whose duration `traits` describes: B instead of I if the model does not split backward ops.
pipeline::OpKind kind_of(const pipeline::Model& model, const OpTraits& traits) {
  return traits.kind == pipeline::OpKind::I && !model.split() ? pipeline::OpKind::B : traits.kind;
}

}  // namespace

OpMedians medians_of(const std::vector<pipeline::Program>& programs, const ReplayTimes& times) {
  std::map<SameOps, std::vector<Ticks>> taken;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    const std::vector<pipeline::Instruction>& code = programs[rank].code;
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i].code != pipeline::Code::run) continue;
      const pipeline::ProgramStage& stage = programs[rank].stages[static_cast<std::size_t>(code[i].target)];
      taken[{stage.model, stage.stage, code[i].op}].push_back(times[rank][i].end - times[rank][i].begin);
    }
  }
  return medians_of(std::move(taken));
}

OpMedians medians_of(std::span<const OpMedians> runs) {
  std::map<SameOps, std::vector<Ticks>> taken;
  for (const OpMedians& run : runs)
    for (const auto& [ops, time] : run) taken[ops].push_back(time);
  return medians_of(std::move(taken));
}

pipeline::Problem with_measured_times(pipeline::Problem problem, const pipeline::Placement& placement,
                                      const OpMedians& medians) {
  for (std::size_t m = 0; m < problem.models.size(); ++m) {
    pipeline::Model& model = problem.models[m];
    pipeline::for_each_duration(model, [&](std::vector<Ticks>& times, const OpTraits& traits) {
      const pipeline::OpKind kind = kind_of(model, traits);
      for (std::size_t s = 0; s < times.size(); ++s)
        if (const auto time = time_of(medians, {base::ModelId(m), base::StageId(s), kind}, placement.models[m].parts))
          times[s] = *time;
    });
  }
  return problem;
}

namespace {

using base::Ticks;
using pipeline::Code;
using pipeline::Instruction;
using pipeline::Program;

/// nullopt if the run does not limit it.
using Slack = std::optional<Ticks>;

/// [a][b] upper limit of (shift of rank a's times - shift of rank b's times).
using Slacks = std::vector<std::vector<Slack>>;

void lower(Slack& slack, Ticks to) { slack = slack ? std::min(*slack, to) : to; }

/// A rank's share of a reduction: when it began and when it ended there.
struct Participation {
  std::size_t rank = 0;
  Ticks begin;
  Slack end;  ///< nullopt if the rank does not await it
};

/// Returns the participations of all ranks in each reduction, by its number.
std::map<int, std::vector<Participation>> parts_of_reductions(const std::vector<Program>& programs,
                                                              const ReplayTimes& times) {
  std::map<int, std::vector<Participation>> reductions;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    std::map<int, Participation> own;
    for (std::size_t i = 0; i < programs[rank].code.size(); ++i) {
      const Instruction& instruction = programs[rank].code[i];
      if (instruction.code != Code::reduce && instruction.code != Code::await) continue;
      Participation& part = own[programs[rank].reductions[static_cast<std::size_t>(instruction.target)].number];
      part.rank = rank;
      if (instruction.code == Code::reduce)
        part.begin = times[rank][i].begin;
      else
        part.end = times[rank][i].end;
    }
    for (const auto& [number, part] : own) reductions[number].push_back(part);
  }
  return reductions;
}

void add_reductions(const std::vector<Program>& programs, const ReplayTimes& times, Slacks& slacks) {
  for (const auto& [number, parts] : parts_of_reductions(programs, times))
    for (const Participation& from : parts)
      for (const Participation& to : parts)
        if (to.end && from.rank != to.rank) lower(slacks[from.rank][to.rank], *to.end - from.begin);
}

void add_messages(const std::vector<Program>& programs, const ReplayTimes& times, Slacks& slacks) {
  std::map<std::tuple<int, int, int>, Ticks> sent;  // (from, to, sequence)
  const auto visit = [&](Code code, auto use) {
    for (std::size_t rank = 0; rank < programs.size(); ++rank)
      for (std::size_t i = 0; i < programs[rank].code.size(); ++i) {
        const Instruction& instruction = programs[rank].code[i];
        if (instruction.code == code)
          use(rank, programs[rank].messages[static_cast<std::size_t>(instruction.target)], times[rank][i]);
      }
  };
  visit(Code::send, [&](std::size_t rank, const pipeline::Message& message, const Span& span) {
    sent.emplace(std::tuple(static_cast<int>(rank), message.peer, message.sequence), span.begin);
  });
  visit(Code::wait, [&](std::size_t rank, const pipeline::Message& message, const Span& span) {
    const auto begin = sent.find({message.peer, static_cast<int>(rank), message.sequence});
    if (begin != sent.end()) lower(slacks[static_cast<std::size_t>(message.peer)][rank], span.end - begin->second);
  });
}

bool clocks_agree(const Slacks& slacks) {
  for (const auto& row : slacks)
    for (const Slack& slack : row)
      if (slack && *slack < Ticks()) return false;
  return true;
}

/// Returns the maximum shift of each rank, [rank], if `origin` is not shifted: shortest paths over `slack_of`(from,
/// to), an entry of Slacks. nullopt for ranks without messages or reductions that connect them to `origin`.
template <class SlackOf>
std::vector<Slack> path_slacks(std::size_t ranks, std::size_t origin, SlackOf slack_of) {
  std::vector<Slack> most(ranks);
  most[origin] = Ticks();
  bool is_changed = true;
  for (std::size_t round = 0; is_changed && round < ranks; ++round) {
    is_changed = false;
    for (std::size_t to = 0; to < ranks; ++to)
      for (std::size_t from = 0; from < ranks; ++from) {
        const Slack slack = slack_of(from, to);
        if (!most[to] || !slack || (most[from] && *most[from] <= *most[to] + *slack)) continue;
        most[from] = *most[to] + *slack;
        is_changed = true;
      }
  }
  return most;
}

/// Returns the shift of each rank's times: [rank]. All maximum shifts together are feasible, as are all minimum shifts,
/// so their midpoints are too. Connected ranks are connected in both directions, because gradients flow back.
std::vector<Ticks> moves_of(const Slacks& slacks) {
  const std::size_t ranks = slacks.size();
  std::vector<Slack> moves(ranks);
  for (std::size_t origin = 0; origin < ranks; ++origin) {
    if (moves[origin]) continue;
    const auto most = path_slacks(ranks, origin, [&](std::size_t a, std::size_t b) { return slacks[a][b]; });
    const auto least = path_slacks(ranks, origin, [&](std::size_t a, std::size_t b) { return slacks[b][a]; });
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (most[rank] && least[rank]) moves[rank] = Ticks((*most[rank] - *least[rank]).count() / 2);
  }
  std::vector<Ticks> all;
  for (const Slack& move : moves) all.push_back(move.value());
  return all;
}

void begin_at_zero(ReplayTimes& times) {
  Ticks first = Ticks::max();
  for (const std::vector<Span>& rank : times)
    if (!rank.empty()) first = std::min(first, rank.front().begin);
  for (std::vector<Span>& rank : times)
    for (Span& span : rank) {
      span.begin -= first;
      span.end -= first;
    }
}

}  // namespace

ReplayTimes on_common_clock(const std::vector<Program>& programs, ReplayTimes times) {
  Slacks slacks(programs.size(), std::vector<Slack>(programs.size()));
  add_messages(programs, times, slacks);
  add_reductions(programs, times, slacks);
  if (!clocks_agree(slacks)) {
    const std::vector<Ticks> moves = moves_of(slacks);
    for (std::size_t rank = 0; rank < times.size(); ++rank)
      for (Span& span : times[rank]) {
        span.begin += moves[rank];
        span.end += moves[rank];
      }
  }
  begin_at_zero(times);
  return times;
}

}  // namespace dovetail::execute
