#include "syntax/shell/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace dovetail::syntax {
namespace {

constexpr std::int64_t max_steps = 100'000;
constexpr std::int64_t max_bytes = std::int64_t{128} << 20;
constexpr int max_depth = 150;

using FlowKind = Flow::Kind;
using NodeKind = ShellNode::Kind;

bool fails_for_certain(const ExitStatus& status) { return !status.unknown && status.code != 0; }

/// Converts the flow at the end of a frame to the flow in the enclosing frame.
Flow outside(ShellFrame::Kind kind, Flow flow) {
  using Kind = ShellFrame::Kind;
  const bool is_loop_flow = flow.kind == FlowKind::broken || flow.kind == FlowKind::continued;
  if (kind == Kind::subshell) return {};
  if (kind == Kind::function) return flow.kind == FlowKind::exited ? flow : Flow{};
  if (kind == Kind::iteration) return flow.kind == FlowKind::continued && flow.levels <= 1 ? Flow{} : flow;
  if (!is_loop_flow) return flow;
  return flow.levels <= 1 ? Flow{} : Flow{.kind = flow.kind, .levels = flow.levels - 1};
}

/// Records a branch that leaves the innermost frame early if it is taken.
void set_aside(Shell& shell, const Flow& flow, ShellState state, const Unknown& why, bool reaches = true) {
  // The script has ended.
  if (shell.frames.empty()) return;
  const bool is_script = std::none_of(shell.frames.begin() + 1, shell.frames.end(),
                                      [](const ShellFrame& frame) { return frame.kind == ShellFrame::Kind::subshell; });
  // Assume that the script neither fails nor exits before it has done anything.
  if (flow.kind == FlowKind::exited && is_script && (fails_for_certain(state.status) || !reaches)) return;
  shell.conditions.push_back(why);
  for (ShellFrame::EarlyExit& early : shell.frames.back().early_exits) {
    if (early.flow.kind != flow.kind || early.flow.levels != flow.levels) continue;
    early.state = either(std::move(early.state), state, why);
    return;
  }
  shell.frames.back().early_exits.push_back({.flow = flow, .state = std::move(state), .why = why});
}

Flow run_list(Shell& shell, const ShellNode& node) {
  for (const ShellNode& child : node.children)
    if (const Flow flow = run(shell, child); !flow.is_normal()) return flow;
  return {};
}

Flow run_tested(Shell& shell, const ShellNode& node) {
  ++shell.tested;
  const Flow flow = run(shell, node);
  --shell.tested;
  return flow;
}

Flow run_and_or(Shell& shell, const ShellNode& node) {
  Flow flow = run_tested(shell, node.children.front());
  for (std::size_t i = 1; i < node.children.size() && flow.is_normal(); ++i) {
    const bool is_and = node.operators[i - 1] == "&&";
    const ExitStatus status = shell.state.status;
    const bool is_last = i + 1 == node.children.size();
    const auto next = [&] { return is_last ? run(shell, node.children[i]) : run_tested(shell, node.children[i]); };
    const bool continues = status.unknown ? status.is_effect && is_and : (status.code == 0) == is_and;
    if (continues)
      flow = run_decided(shell, status, node.place, next);
    else if (status.unknown)
      flow = run_either(shell, *status.unknown, next, [] { return Flow{}; });
  }
  return flow;
}

Flow run_conditional(Shell& shell, const ShellNode& node, std::size_t at) {
  if (at >= node.children.size()) {
    shell.state.status = {};
    return {};
  }
  if (at + 1 == node.children.size()) return run(shell, node.children[at]);
  const ShellDepth depth(shell, node.place);
  if (shell.error) return {.kind = FlowKind::exited, .levels = 0};
  if (const Flow flow = run_tested(shell, node.children[at]); !flow.is_normal()) return flow;
  const ExitStatus status = shell.state.status;
  const auto yes = [&] { return run(shell, node.children[at + 1]); };
  const auto no = [&] { return run_conditional(shell, node, at + 2); };
  if (status.unknown) return run_either(shell, *status.unknown, yes, no);
  return run_decided(shell, status, node.place, status.code == 0 ? std::function<Flow()>(yes) : no);
}

Flow run_arms(Shell& shell, const ShellNode& node, const Text& word, std::size_t at);

/// Runs the commands of arm `at` of `case`, then the arms that run after it because of `;&` or `;;&`.
Flow run_arm(Shell& shell, const ShellNode& node, const Text& word, std::size_t at) {
  for (;; ++at) {
    const Flow flow = run(shell, node.children[at]);
    const std::string& end = node.arms[at].end;
    if (!flow.is_normal() || end == ";;" || at + 1 >= node.arms.size()) return flow;
    if (end != ";&") return run_arms(shell, node, word, at + 1);
  }
}

/// Runs the matching arm of `case`, starting at arm `at`.
Flow run_arms(Shell& shell, const ShellNode& node, const Text& word, std::size_t at) {
  const ShellDepth depth(shell, node.place);
  for (; at < node.arms.size() && !shell.error; ++at) {
    std::optional<Unknown> uncertainty;
    bool matches = false;
    for (const ShellWord& pattern : node.arms[at].patterns) {
      const Text text = expand_pattern(shell, pattern.parts);
      if (!spend(shell, pattern.place, 1 + static_cast<std::int64_t>(size_of(word) / 64))) break;
      if (is_known(text) && characters(text) == "*")
        matches = true;
      else if (!is_known(word) || !is_known(text))
        uncertainty = first_unknown(is_known(word) ? text : word);
      else
        matches = matches || matches_pattern(characters(text), characters(word));
    }
    const auto body = [&shell, &node, &word, at] { return run_arm(shell, node, word, at); };
    if (matches) {
      const ExitStatus status{.code = 0, .unknown = {}, .is_effect = false, .defaulted = word.defaulted};
      return run_decided(shell, status, node.place, body);
    }
    if (uncertainty) return run_either(shell, *uncertainty, body, [&] { return run_arms(shell, node, word, at + 1); });
  }
  return {};
}

Flow run_choice(Shell& shell, const ShellNode& node) {
  const Text word = expand_text(shell, node.words.front().parts);
  shell.state.status = {};
  return run_arms(shell, node, word, 0);
}

Flow run_pipeline(Shell& shell, const ShellNode& node) {
  if (node.children.size() == 1) {
    const Flow flow = run_tested(shell, node.children.front());
    shell.state.status.code = shell.state.status.code == 0 ? 1 : 0;
    shell.state.status.is_effect = false;
    return flow;
  }
  const std::optional<Text> before = shell.state.input;
  for (std::size_t i = 0; i < node.children.size() && !shell.error; ++i) {
    const bool is_last = i + 1 == node.children.size();
    Text output = run_in_subshell(shell, node.children[i], !is_last || shell.captures);
    if (is_last)
      write(shell, output);
    else
      shell.state.input = std::move(output);
  }
  shell.state.input = before;
  if (node.negated) {
    shell.state.status.code = shell.state.status.code == 0 ? 1 : 0;
    shell.state.status.is_effect = false;
  }
  return {};
}

/// Number of iterations after which a loop is assumed to be infinite.
constexpr int max_turns = 2'000;

using LoopFlow = Flow::Kind;

Flow run_body(Shell& shell, const ShellNode& body) {
  return run_framed(shell, ShellFrame::Kind::iteration, [&] { return run(shell, body); });
}

/// Evaluates a loop with an unknown number of iterations, possibly zero. The second pass starts from the merged state
/// of the first. It reaches every command that the first pass reached.
Flow run_any_times(Shell& shell, const Unknown& why, const std::function<Flow()>& run_once) {
  const std::size_t reached = shell.outcome.commands.size();
  for (int pass = 0; pass < 2 && !shell.error; ++pass) {
    shell.outcome.commands.resize(reached);
    const Flow flow = run_either(shell, why, run_once, [] { return Flow{}; });
    if (!flow.is_normal()) return flow;
  }
  return {};
}

/// Returns the reason why an iteration may have left the loop, or nullopt if none may have.
std::optional<Unknown> early_exit_condition(const Shell& shell) {
  const auto& early = shell.frames.back().early_exits;
  return early.empty() ? std::nullopt : std::optional(early.front().why);
}

Flow run_turns(Shell& shell, const Place& place, const std::function<Flow()>& condition,
               const std::function<Flow()>& run_once) {
  for (int turns = 0; !shell.error; ++turns) {
    if (const Flow flow = condition(); !flow.is_normal()) return flow;
    const ExitStatus status = shell.state.status;
    const auto again = [&] {
      const Flow flow = run_once();
      return flow.is_normal() ? condition() : flow;
    };
    if (status.unknown) {
      const Flow flow = run_any_times(shell, *status.unknown, again);
      shell.state.status = {};
      return flow;
    }
    if (status.code != 0) break;
    if (const Flow flow = run_once(); !flow.is_normal()) return flow;
    if (const std::optional<Unknown> uncertainty = early_exit_condition(shell))
      return run_any_times(shell, *uncertainty, run_once);
    if (turns >= max_turns) {
      shell.outcome.end = ScriptEnd{.place = place, .reason = "the loop runs too many times"};
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

/// Returns the reason why the number of words that a word expands to is unknown, or nullopt if it is known.
std::optional<Unknown> condition_of_word(const Word& word) {
  if (word.condition) return word.condition;
  if (!is_known(word.text) && first_unknown(word.text).many) return first_unknown(word.text);
  // The word would expand to the names of matching files.
  if (is_known(word.text) && characters(word.text).find_first_of("*?") != std::string_view::npos)
    return Unknown{.place = word.place, .what = "the list of matching files", .variable = {}, .many = true};
  return std::nullopt;
}

Flow run_for_each(Shell& shell, const ShellNode& node) {
  std::vector<Word> words;
  if (!node.has_words) words = shell.state.parameters;
  for (const ShellWord& word : node.words) expand(shell, word, words);
  shell.state.status = {};
  for (const Word& word : words) {
    if (!spend(shell, node.place, 1)) break;
    const std::optional<Unknown> uncertainty = condition_of_word(word);
    const bool is_certain = word.condition.has_value() || !uncertainty;
    const auto run_once = [&] {
      assign_text(shell, node.name, is_certain ? word.text : text_of(*uncertainty), word.place);
      return run_body(shell, node.children[0]);
    };
    const Flow flow = !uncertainty     ? run_once()
                      : word.condition ? run_either(shell, *uncertainty, run_once, [] { return Flow{}; })
                                       : run_any_times(shell, *uncertainty, run_once);
    if (!flow.is_normal()) return flow;
  }
  return {};
}

Flow run_loop(Shell& shell, const ShellNode& node) {
  return run_framed(shell, ShellFrame::Kind::loop, [&] {
    if (node.kind == ShellNode::Kind::loop) return run_while(shell, node);
    return node.kind == ShellNode::Kind::for_each ? run_for_each(shell, node) : run_for_arithmetic(shell, node);
  });
}

Flow run_kind(Shell& shell, const ShellNode& node) {
  switch (node.kind) {
    case NodeKind::simple:
      return run_simple(shell, node);
    case NodeKind::pipeline:
      return run_pipeline(shell, node);
    case NodeKind::and_or:
      return run_and_or(shell, node);
    case NodeKind::list:
    case NodeKind::group:
      return run_list(shell, node);
    case NodeKind::subshell:
      write(shell, run_in_subshell(shell, node.children.front(), shell.captures));
      return {};
    case NodeKind::conditional:
      return run_conditional(shell, node, 0);
    case NodeKind::loop:
    case NodeKind::for_each:
    case NodeKind::for_arithmetic:
      return run_loop(shell, node);
    case NodeKind::choice:
      return run_choice(shell, node);
    case NodeKind::function:
      shell.state.functions[node.name] = &node.children.front();
      shell.state.status = {};
      return {};
    case NodeKind::test:
      shell.state.status = test_tree(shell, node.test.front());
      return {};
    case NodeKind::arithmetic: {
      const Text expression = expand_text(shell, node.expressions.front());
      const ArithmeticValue value = compute(shell, expression, node.place);
      shell.state.status = {
          .code = value.value != 0 ? 0 : 1, .unknown = value.unknown, .is_effect = false, .defaulted = {}};
      return {};
    }
  }
  return {};
}

/// Returns whether `set -e` checks the status of such a command.
bool is_checked_by_errexit(const ShellNode& node) {
  return (node.kind == NodeKind::simple || node.kind == NodeKind::subshell || node.kind == NodeKind::test ||
          node.kind == NodeKind::arithmetic || node.kind == NodeKind::pipeline) &&
         !node.negated;
}

}  // namespace

void fail(Shell& shell, const Place& place, std::string message) {
  if (shell.error) return;
  shell.error = base::Error{.failure = base::Failure::bad_input,
                            .path = shell.outcome.sources[static_cast<std::size_t>(place.source)],
                            .line = place.line,
                            .column = place.column,
                            .message = std::move(message)};
}

bool spend(Shell& shell, const Place& place, std::int64_t steps, std::int64_t bytes) {
  shell.cost.steps += steps;
  shell.cost.bytes += bytes;
  if (shell.cost.steps > max_steps)
    fail(shell, place, fmt::format("evaluating the script takes too many steps; accepted: at most {}", max_steps));
  if (shell.cost.bytes > max_bytes)
    fail(shell, place,
         fmt::format("evaluating the script takes too much memory; accepted: at most {} bytes", max_bytes));
  return !shell.error;
}

ShellDepth::ShellDepth(Shell& shell, const Place& place) : shell_(shell) {
  if (++shell_.depth > max_depth)
    fail(shell, place, fmt::format("commands are nested too deeply; accepted: at most {} levels", max_depth));
}

Flow run(Shell& shell, const ShellNode& node) {
  const ShellDepth depth(shell, node.place);
  const Flow stopped{.kind = FlowKind::exited, .levels = 0};
  if (shell.error || !spend(shell, node.place, 1)) return stopped;
  Flow flow;
  if (node.in_background) {
    const ShellState before = shell.state;
    if (!spend(shell, node.place, 1, static_cast<std::int64_t>(size_of(before)))) return stopped;
    run_framed(shell, ShellFrame::Kind::subshell, [&] { return run_kind(shell, node); });
    shell.state = before;
    shell.state.status = {};
  } else if (node.redirections.empty() || node.kind == NodeKind::simple) {
    flow = run_kind(shell, node);
  } else {
    flow = run_redirected(shell, node.redirections, [&] { return run_kind(shell, node); });
  }
  if (shell.error) return stopped;
  if (flow.is_normal() && shell.state.stops_on_error && shell.tested == 0 && fails_for_certain(shell.state.status) &&
      is_checked_by_errexit(node)) {
    shell.exit_place = node.place;
    return stopped;
  }
  return flow;
}

Flow run_decided(Shell& shell, const ExitStatus& status, const Place& place, const std::function<Flow()>& body) {
  const std::size_t before = shell.decisions.size();
  if (!status.defaulted.empty()) shell.decisions.push_back({.place = place, .defaulted = status.defaulted});
  const Flow flow = body();
  shell.decisions.resize(before);
  return flow;
}

Flow run_either(Shell& shell, const Unknown& why, const std::function<Flow()>& one,
                const std::function<Flow()>& other) {
  const auto size = static_cast<std::int64_t>(size_of(shell.state));
  if (!spend(shell, why.place, 1, 2 * size)) return {.kind = FlowKind::exited, .levels = 0};
  const std::size_t condition_count = shell.conditions.size();
  const ShellState before = shell.state;
  shell.conditions.push_back(why);
  const std::size_t reached = shell.outcome.commands.size();
  const Flow first = one();
  const std::size_t reached_first = shell.outcome.commands.size();
  ShellState after = std::exchange(shell.state, before);
  std::vector<Unknown> remaining(shell.conditions.begin() + static_cast<std::ptrdiff_t>(condition_count) + 1,
                                 shell.conditions.end());
  shell.conditions.resize(condition_count + 1);
  const Flow second = other();
  shell.conditions.erase(shell.conditions.begin() + static_cast<std::ptrdiff_t>(condition_count));
  shell.conditions.insert(shell.conditions.end(), remaining.begin(), remaining.end());
  if (shell.error) return {.kind = FlowKind::exited, .levels = 0};
  if (first.kind == second.kind && first.levels == second.levels) {
    shell.state = either(std::move(after), shell.state, why);
    return first;
  }
  if (first.is_normal()) {
    set_aside(shell, second, std::move(shell.state), why, shell.outcome.commands.size() > reached_first);
    shell.state = std::move(after);
    return first;
  }
  set_aside(shell, first, std::move(after), why, reached_first > reached);
  return second;
}

Flow run_framed(Shell& shell, ShellFrame::Kind kind, const std::function<Flow()>& body) {
  shell.frames.push_back({.kind = kind, .conditions = shell.conditions.size(), .early_exits = {}});
  Flow flow = outside(kind, body());
  ShellFrame frame = std::move(shell.frames.back());
  shell.frames.pop_back();
  shell.conditions.resize(std::min(shell.conditions.size(), frame.conditions));
  if (shell.error) return {.kind = FlowKind::exited, .levels = 0};
  for (ShellFrame::EarlyExit& early : frame.early_exits) {
    const Flow left = outside(kind, early.flow);
    if (left.kind == flow.kind && left.levels == flow.levels) {
      shell.state = either(std::move(early.state), shell.state, early.why);
    } else if (left.is_normal()) {
      set_aside(shell, flow, std::exchange(shell.state, std::move(early.state)), early.why);
      flow = left;
    } else {
      set_aside(shell, left, std::move(early.state), early.why);
    }
  }
  return flow;
}

Text run_in_subshell(Shell& shell, const ShellNode& node, bool captures) {
  const auto size = static_cast<std::int64_t>(size_of(shell.state));
  if (!spend(shell, node.place, 1, size)) return {};
  ShellState before = shell.state;
  const bool captured = std::exchange(shell.captures, captures);
  shell.state.output = {};
  shell.state.status = {};
  const bool in_background = node.in_background;
  run_framed(shell, ShellFrame::Kind::subshell, [&] { return run(shell, node); });
  Text output = std::move(shell.state.output);
  before.status = in_background ? ExitStatus{} : shell.state.status;
  shell.state = std::move(before);
  shell.captures = captured;
  return output;
}

Flow run_script_text(Shell& shell, std::string_view content, const std::string& path, Place begin) {
  constexpr std::size_t characters_a_step = 64;
  if (!spend(shell, begin, static_cast<std::int64_t>(content.size() / characters_a_step)))
    return {.kind = FlowKind::exited, .levels = 0};
  auto tree = parse_shell(content, path, begin, shell.trees);
  if (!tree.ok()) {
    if (!shell.error) shell.error = tree.error();
    return {.kind = FlowKind::exited, .levels = 0};
  }
  return run(shell, **tree);
}

}  // namespace dovetail::syntax
