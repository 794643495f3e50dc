#include <utility>

#include "syntax/shell/run.h"

namespace dovetail::syntax {
namespace {

std::size_t size_of_words(const std::vector<Word>& words) {
  std::size_t size = 0;
  for (const Word& word : words) size += sizeof(Word) + size_of(word.text);
  return size;
}

Variable either_variable(const Variable& one, const Variable& other, const Unknown& why) {
  if (one == other) return one;
  Variable result = one;
  using Kind = Variable::Kind;
  result.is_exported = one.is_exported || other.is_exported;
  if (one.kind == Kind::associative && other.kind == Kind::associative) {
    for (const auto& [key, word] : other.associative) {
      auto& own = result.associative[key];
      own = {.text = either(own.text, word.text, why), .place = word.place, .condition = {}};
    }
    for (auto& [key, word] : result.associative)
      if (!other.associative.contains(key)) word.text = either(word.text, {}, why);
    return result;
  }
  const bool is_list = one.kind == Kind::indexed || other.kind == Kind::indexed;
  if (is_list) {
    result = list_variable(either(elements_of(one), elements_of(other), why));
    result.is_exported = one.is_exported;
    return result;
  }
  const Word own = one.indexed.empty() ? Word{} : one.indexed.begin()->second;
  const Word others = other.indexed.empty() ? Word{} : other.indexed.begin()->second;
  result.kind = Kind::scalar;
  result.indexed.clear();
  result.indexed[0] = {.text = either(own.text, others.text, why), .place = why.place, .condition = {}};
  // It is also unknown whether the variable is set.
  if (one.kind != other.kind && is_known(result.indexed[0].text)) result.indexed[0].text = text_of(why);
  return result;
}

}  // namespace

std::size_t size_of(const ShellState& state) {
  std::size_t size = sizeof(ShellState) + size_of(state.output) + size_of_words(state.parameters);
  for (const auto& [name, variable] : state.variables) {
    size += name.size() + sizeof(Variable);
    for (const auto& [index, word] : variable.indexed) size += sizeof(Word) + size_of(word.text);
    for (const auto& [key, word] : variable.associative) size += key.size() + sizeof(Word) + size_of(word.text);
  }
  return size + (state.input ? size_of(*state.input) : 0);
}

std::vector<Word> elements_of(const Variable& variable) {
  std::vector<Word> words;
  for (const auto& [index, word] : variable.indexed) words.push_back(word);
  for (const auto& [key, word] : variable.associative) words.push_back(word);
  return words;
}

Variable list_variable(std::vector<Word> words) {
  Variable variable;
  variable.kind = Variable::Kind::indexed;
  std::int64_t index = 0;
  for (Word& word : words) variable.indexed[index++] = std::move(word);
  return variable;
}

ShellState either(ShellState one, const ShellState& other, const Unknown& why) {
  for (const auto& [name, variable] : other.variables)
    one.variables[name] = either_variable(one.variables[name], variable, why);
  for (auto& [name, variable] : one.variables)
    if (!other.variables.contains(name)) variable = either_variable(variable, {}, why);
  for (const auto& [name, function] : other.functions) {
    const auto [own, is_new] = one.functions.emplace(name, function);
    if (!is_new && own->second != function) own->second = nullptr;
  }
  one.parameters = either(one.parameters, other.parameters, why);
  one.directory = either(one.directory, other.directory, why);
  one.output = either(one.output, other.output, why);
  if (one.input && other.input)
    one.input = either(*one.input, *other.input, why);
  else
    one.input.reset();
  if (one.status != other.status) one.status = {.code = 0, .unknown = why, .is_effect = false, .defaulted = {}};
  for (std::size_t i = 0; i < one.hidden.size() && i < other.hidden.size(); ++i)
    one.hidden[i].insert(other.hidden[i].begin(), other.hidden[i].end());
  one.stops_on_error = one.stops_on_error && other.stops_on_error;
  return one;
}

}  // namespace dovetail::syntax
