#include "execute/common_clock.h"

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
using pipeline::Code;
using pipeline::Instruction;
using pipeline::Program;

/// Nothing where a run does not say.
using Slack = std::optional<Ticks>;

/// [a][b] at most so much may be added to the times of rank a beyond what is added to those of b.
using Slacks = std::vector<std::vector<Slack>>;

void lower(Slack& slack, Ticks to) { slack = slack ? std::min(*slack, to) : to; }

/// When what a rank takes part in began there, and when it was over.
struct Part {
  std::size_t rank = 0;
  Ticks begin;
  Slack end;  ///< nothing where nobody awaits it
};

/// The parts of all ranks in each reduction, by its number.
std::map<int, std::vector<Part>> parts_of_reductions(const std::vector<Program>& programs, const ReplayTimes& times) {
  std::map<int, std::vector<Part>> reductions;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    std::map<int, Part> own;
    for (std::size_t i = 0; i < programs[rank].code.size(); ++i) {
      const Instruction& instruction = programs[rank].code[i];
      if (instruction.code != Code::reduce && instruction.code != Code::await) continue;
      Part& part = own[programs[rank].reductions[static_cast<std::size_t>(instruction.target)].number];
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
    for (const Part& from : parts)
      for (const Part& to : parts)
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

/// [rank] the most that may be added to its times where nothing is to those of `origin`: shortest paths. `slack_of`
/// (from, to) as Slacks has it. Nothing for ranks that no messages or reductions tie to it.
template <class SlackOf>
std::vector<Slack> farthest(std::size_t ranks, std::size_t origin, SlackOf slack_of) {
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

/// [rank] what to add to its times. The most and the least that all may have together are both sound, and so is their
/// middle. Ranks that a run ties together it ties both ways: activations come back as gradients.
std::vector<Ticks> moves_of(const Slacks& slacks) {
  const std::size_t ranks = slacks.size();
  std::vector<Slack> moves(ranks);
  for (std::size_t origin = 0; origin < ranks; ++origin) {
    if (moves[origin]) continue;
    const auto most = farthest(ranks, origin, [&](std::size_t a, std::size_t b) { return slacks[a][b]; });
    const auto least = farthest(ranks, origin, [&](std::size_t a, std::size_t b) { return slacks[b][a]; });
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
