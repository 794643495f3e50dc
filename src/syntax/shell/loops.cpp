#include <utility>

#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

/// After that many turns a loop is taken as one that never ends.
constexpr int max_turns = 2'000;

using LoopFlow = Flow::Kind;

Flow run_body(Shell& shell, const ShellNode& body) {
  return run_framed(shell, ShellFrame::Kind::iteration, [&] { return run(shell, body); });
}

/// Any number of turns, also none. The second one finds what the first may have left; what only the first reaches, the
/// second reaches as well.
Flow run_any_times(Shell& shell, const Unknown& why, const std::function<Flow()>& turn) {
  const std::size_t reached = shell.outcome.commands.size();
  for (int pass = 0; pass < 2 && !shell.error; ++pass) {
    shell.outcome.commands.resize(reached);
    const Flow flow = run_either(shell, why, turn, [] { return Flow{}; });
    if (!flow.is_normal()) return flow;
  }
  return {};
}

/// Whether a turn may have left the loop.
std::optional<Unknown> doubt_of_end(const Shell& shell) {
  const auto& early = shell.frames.back().early;
  return early.empty() ? std::nullopt : std::optional(early.front().why);
}

Flow run_turns(Shell& shell, const Place& place, const std::function<Flow()>& condition,
               const std::function<Flow()>& turn) {
  for (int turns = 0; !shell.error; ++turns) {
    if (const Flow flow = condition(); !flow.is_normal()) return flow;
    const ExitStatus status = shell.state.status;
    const auto again = [&] {
      const Flow flow = turn();
      return flow.is_normal() ? condition() : flow;
    };
    if (status.unknown) {
      const Flow flow = run_any_times(shell, *status.unknown, again);
      shell.state.status = {};
      return flow;
    }
    if (status.code != 0) break;
    if (const Flow flow = turn(); !flow.is_normal()) return flow;
    if (const std::optional<Unknown> doubt = doubt_of_end(shell)) return run_any_times(shell, *doubt, turn);
    if (turns >= max_turns) {
      shell.outcome.end = ScriptEnd{.place = place, .reason = "the loop does not end"};
      shell.exit_place = place;
      return {.kind = LoopFlow::exited, .levels = 0};
    }
  }
  shell.state.status = {};
  return {};
}

Flow run_while(Shell& shell, const ShellNode& node) {
  const auto condition = [&] {
    ++shell.tested;
    const Flow flow = run(shell, node.children[0]);
    --shell.tested;
    if (node.negated) shell.state.status.code = shell.state.status.code == 0 ? 1 : 0;
    return flow;
  };
  return run_turns(shell, node.place, condition, [&] { return run_body(shell, node.children[1]); });
}

Flow run_for_arithmetic(Shell& shell, const ShellNode& node) {
  const auto value_of = [&](std::size_t i) {
    return compute(shell, expand_text(shell, node.expressions[i]), node.place);
  };
  value_of(0);
  const auto condition = [&] {
    if (node.expressions[1].empty()) {
      shell.state.status = {};
      return Flow{};
    }
    const ArithmeticValue value = value_of(1);
    shell.state.status = {
        .code = value.value != 0 ? 0 : 1, .unknown = value.unknown, .is_effect = false, .defaulted = {}};
    return Flow{};
  };
  return run_turns(shell, node.place, condition, [&] {
    const Flow flow = run_body(shell, node.children[0]);
    if (flow.is_normal()) value_of(2);
    return flow;
  });
}

/// What makes it unknown how often the word comes.
std::optional<Unknown> doubt_of_word(const Word& word) {
  if (word.doubt) return word.doubt;
  if (!is_known(word.text) && first_unknown(word.text).many) return first_unknown(word.text);
  // The names of files that would match.
  if (is_known(word.text) && characters(word.text).find_first_of("*?") != std::string_view::npos)
    return Unknown{.place = word.place, .what = "the names of files", .variable = {}, .many = true};
  return std::nullopt;
}

Flow run_for_each(Shell& shell, const ShellNode& node) {
  std::vector<Word> words;
  if (!node.has_words) words = shell.state.parameters;
  for (const ShellWord& word : node.words) expand(shell, word, words);
  shell.state.status = {};
  for (const Word& word : words) {
    if (!spend(shell, node.place, 1)) break;
    const std::optional<Unknown> doubt = doubt_of_word(word);
    const bool is_certain = word.doubt.has_value() || !doubt;
    const auto turn = [&] {
      assign_text(shell, node.name, is_certain ? word.text : text_of(*doubt), word.place);
      return run_body(shell, node.children[0]);
    };
    const Flow flow = !doubt       ? turn()
                      : word.doubt ? run_either(shell, *doubt, turn, [] { return Flow{}; })
                                   : run_any_times(shell, *doubt, turn);
    if (!flow.is_normal()) return flow;
  }
  return {};
}

}  // namespace

Flow run_loop(Shell& shell, const ShellNode& node) {
  return run_framed(shell, ShellFrame::Kind::loop, [&] {
    if (node.kind == ShellNode::Kind::loop) return run_while(shell, node);
    return node.kind == ShellNode::Kind::for_each ? run_for_each(shell, node) : run_for_arithmetic(shell, node);
  });
}

}  // namespace dovetail::syntax
