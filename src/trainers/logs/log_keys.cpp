#include "trainers/logs/log_keys.h"

#include <algorithm>

namespace dovetail::trainers {
namespace {

/// Replaces '/' by '_', as TensorBoard's file names do.
std::string alike(std::string_view text) {
  std::string result(text);
  std::replace(result.begin(), result.end(), '/', '_');
  return result;
}

/// Returns the name after `prefix`, or nullopt if the name contains '/', because the key may then have a longer prefix.
std::optional<std::string> exact_name(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix) || key.find('/', prefix.size()) != std::string_view::npos) return std::nullopt;
  return std::string(key.substr(prefix.size()));
}

/// Returns the part of `key` after the first occurrence of `wanted` at the start of a word. Repetitions of `wanted` are
/// skipped. `text` is `key` or alike(key).
std::optional<std::string> name_after(const std::string& wanted, const std::string& text, std::string_view key) {
  std::size_t at = text.find(wanted);
  if (at == std::string::npos) return std::nullopt;
  // A match inside a word does not count.
  if (at > 0 && std::string_view("/_ .").find(key[at - 1]) == std::string_view::npos) return std::nullopt;
  while (text.compare(at + wanted.size(), wanted.size(), wanted) == 0) at += wanted.size();
  if (at + wanted.size() == key.size()) return std::nullopt;
  return std::string(key.substr(at + wanted.size()));
}

}  // namespace

std::optional<std::string> time_name(const LogKeys& keys, std::string_view key) {
  for (const std::string_view prefix : keys.prefixes) {
    const bool first = prefix == keys.prefixes.front();
    auto name = keys.exact ? exact_name(prefix, key)
                : first    ? name_after(alike(prefix), alike(key), key)
                           : name_after(std::string(prefix), std::string(key), key);
    if (name && name->ends_with(keys.suffix)) return name;
  }
  return std::nullopt;
}

std::optional<TimedKey> find_timed_key(const LogKeys& keys, std::string_view name) {
  const std::string wanted = alike(name);
  for (const TimedKey& key : keys.times)
    if (alike(key.name) == wanted) return key;
  for (const TimedKey& key : keys.times)
    if (name.starts_with(key.name) && name.size() > key.name.size() && name[key.name.size()] == '/')
      return TimedKey{key.name, TimeKind::part, {}, {}};
  return std::nullopt;
}

std::optional<LengthFigure> length_figure(const LogKeys& keys, std::string_view key) {
  const std::string wanted = alike(key);
  for (const LengthKey& length : keys.lengths) {
    const std::string name = alike(length.name);
    if (wanted == name || (!keys.exact && wanted.ends_with("_" + name))) return length.figure;
  }
  return std::nullopt;
}

}  // namespace dovetail::trainers
