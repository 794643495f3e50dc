#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "base/document.h"
#include "syntax/configuration.h"

namespace dovetail::syntax {
namespace {

constexpr int max_resolved_depth = 32;
constexpr std::int64_t max_resolved = 120'000;

using ResolvedKind = Setting::Kind;

Setting not_resolved(const Place& place, std::string what, std::string variable = {}) {
  Setting setting;
  setting.kind = ResolvedKind::unknown;
  setting.place = place;
  setting.unknown = Unknown{.place = place, .what = std::move(what), .variable = std::move(variable), .many = false};
  return setting;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

/// Where the `}` of a `${` is that begins at `begin`; npos where there is none.
std::size_t end_of_interpolation(std::string_view text, std::size_t begin) {
  int open = 0;
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    open += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (open == 0) return i;
  }
  return std::string_view::npos;
}

/// The arguments of a resolver: at commas that are in no braces, brackets or quotes.
std::vector<std::string_view> arguments_of(std::string_view text) {
  std::vector<std::string_view> arguments;
  int open = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '{' || c == '[' || c == '(') {
      ++open;
    } else if (c == '}' || c == ']' || c == ')') {
      --open;
    } else if (c == ',' && open == 0) {
      arguments.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  arguments.push_back(trimmed(text.substr(begin)));
  return arguments;
}

std::optional<double> decimal_of(const Setting& setting) {
  double value = 0;
  if (setting.kind != ResolvedKind::number) return std::nullopt;
  const auto [end, fault] = std::from_chars(setting.text.data(), setting.text.data() + setting.text.size(), value);
  if (fault != std::errc() || end != setting.text.data() + setting.text.size()) return std::nullopt;
  return value;
}

/// The result of a resolver over numbers; nothing where it is another one.
std::optional<double> compute_sum(std::string_view name, double a, double b) {
  if (name == "mul") return a * b;
  if (name == "add" || name == "sum") return a + b;
  if (name == "sub") return a - b;
  if (name == "div" && b != 0) return std::floor(a / b);
  if (name == "max") return std::max(a, b);
  if (name == "min") return std::min(a, b);
  return std::nullopt;
}

/// Resolves a tree: reads of the tree as it was written, writes to a copy.
class Resolver {
 public:
  Resolver(const SettingTree& tree, const std::map<std::string, std::string>& environment)
      : tree_(tree), environment_(environment) {}

  Setting resolved(const Setting& setting, const std::vector<std::string>& path) {
    if (--left_ < 0) return {};
    Setting result = setting;
    for (std::size_t i = 0; i < result.items.size() && left_ > 0; ++i)
      result.items[i] = resolved(setting.items[i], below(path, std::to_string(i)));
    for (auto& [name, value] : result.members) {
      if (left_ <= 0) break;
      value = resolved(value, below(path, name));
    }
    if (result.kind != ResolvedKind::string || result.text.find("${") == std::string::npos) return result;
    Setting value = text_value(result.text, path, result.place);
    value.place = result.place;
    if (result.unknown && !value.unknown) value.unknown = result.unknown;
    return value;
  }
  bool is_too_large() const { return left_ <= 0; }

 private:
  static std::vector<std::string> below(std::vector<std::string> path, std::string name) {
    path.push_back(std::move(name));
    return path;
  }

  /// A text with interpolations. One that is nothing but an interpolation is what that stands for.
  Setting text_value(std::string_view text, const std::vector<std::string>& path, const Place& place) {
    if (depth_ >= max_resolved_depth) return not_resolved(place, base::quote(text) + ", which goes round in a circle,");
    left_ -= static_cast<std::int64_t>(text.size() / 16) + 1;
    if (left_ <= 0) return {};
    ++depth_;
    Setting result = composed(text, path, place);
    --depth_;
    return result;
  }

  Setting composed(std::string_view text, const std::vector<std::string>& path, const Place& place) {
    Setting result;
    result.kind = ResolvedKind::string;
    result.place = place;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = std::min(text.find("${", at), text.size());
      result.text += text.substr(at, begin - at);
      if (begin == text.size()) break;
      const std::size_t end = end_of_interpolation(text, begin);
      if (end == std::string_view::npos) return not_resolved(place, base::quote(text) + ", whose `${` has no end,");
      if (begin > 0 && text[begin - 1] == '\\') {
        result.text.back() = '$';
        result.text += text.substr(begin + 1, end - begin);
        at = end + 1;
        continue;
      }
      Setting value = interpolated(trimmed(text.substr(begin + 2, end - begin - 2)), path, place);
      if (begin == 0 && end + 1 == text.size()) return value;
      if (value.kind == ResolvedKind::unknown) return value;
      left_ -= static_cast<std::int64_t>(value.text.size());
      if (left_ <= 0) return {};
      result.text += value.kind == ResolvedKind::null ? "None" : value.text;
      at = end + 1;
    }
    return result;
  }

  Setting interpolated(std::string_view text, const std::vector<std::string>& path, const Place& place) {
    const std::size_t colon = text.find(':');
    const std::size_t nested = text.find("${");
    if (colon == std::string_view::npos || (nested != std::string_view::npos && nested < colon)) {
      if (nested == std::string_view::npos) return at_key(text, path, place);
      const Setting key = text_value(text, path, place);
      return key.kind == ResolvedKind::unknown ? key : at_key(key.text, path, place);
    }
    return computed(trimmed(text.substr(0, colon)), arguments_of(text.substr(colon + 1)), path, place);
  }

  Setting argument(std::string_view text, const std::vector<std::string>& path, const Place& place) {
    if (text.find("${") != std::string_view::npos) return text_value(text, path, place);
    base::Result<Setting> value = parse_value(text, place, tree_.sources);
    return value.ok() ? std::move(*value) : not_resolved(place, base::quote(text));
  }

  Setting computed(std::string_view name, const std::vector<std::string_view>& arguments,
                   const std::vector<std::string>& path, const Place& place) {
    if (name == "oc.env") {
      const auto found = environment_.find(std::string(arguments[0]));
      if (found != environment_.end()) {
        base::Result<Setting> value = parse_value("'" + found->second + "'", place, tree_.sources);
        return value.ok() ? std::move(*value) : not_resolved(place, base::quote(found->second));
      }
      if (arguments.size() > 1) return argument(arguments[1], path, place);
      return not_resolved(place, fmt::format("the variable {} of the environment", base::quote(arguments[0])),
                          std::string(arguments[0]));
    }
    if (name == "oc.select") {
      Setting value = at_key(arguments[0], path, place);
      const bool is_missing = value.kind == ResolvedKind::unknown && is_absent_;
      if (!is_missing) return value;
      if (arguments.size() > 1) return argument(arguments[1], path, place);
      Setting nothing;
      nothing.place = place;
      return nothing;
    }
    if (name == "oc.decode" && arguments.size() == 1) {
      Setting value = argument(arguments[0], path, place);
      if (value.kind != ResolvedKind::string) return value;
      return argument(value.text, path, place);
    }
    if (arguments.size() == 2) {
      const std::optional<double> a = decimal_of(argument(arguments[0], path, place));
      const std::optional<double> b = decimal_of(argument(arguments[1], path, place));
      const std::optional<double> value = a && b ? compute_sum(name, *a, *b) : std::nullopt;
      if (value && std::abs(*value) < 1e15) {
        Setting result;
        result.kind = ResolvedKind::number;
        result.place = place;
        result.text = fmt::format("{}", *value);
        return result;
      }
    }
    return not_resolved(place, fmt::format("what the resolver {} gives", base::quote(name)));
  }

  /// The value at a key: from the root, or with leading dots from where the interpolation stands.
  Setting at_key(std::string_view key, const std::vector<std::string>& path, const Place& place) {
    std::vector<std::string> names;
    if (key.starts_with('.')) {
      std::size_t up = 0;
      while (key.starts_with('.')) {
        key.remove_prefix(1);
        ++up;
      }
      names.assign(path.begin(), path.end() - static_cast<std::ptrdiff_t>(std::min(up, path.size())));
    }
    for (const std::string& name : names_of_path(key)) names.push_back(name);
    const Setting* found = &tree_.root;
    for (std::size_t i = 0; i < names.size() && found; ++i) {
      found = find_setting(*found, names[i]);
      if (!found || found->kind != ResolvedKind::string || !found->text.starts_with("${") || i + 1 == names.size())
        continue;
      // What is on the way may stand for another map.
      const Setting on_the_way =
          text_value(found->text, {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i) + 1}, place);
      std::string rest;
      for (std::size_t j = i + 1; j < names.size(); ++j) rest += (rest.empty() ? "" : ".") + names[j];
      const Setting* inner = find_setting(on_the_way, rest);
      is_absent_ = inner == nullptr;
      return inner ? *inner : not_resolved(place, base::quote(rest) + ", which is not there,");
    }
    is_absent_ = !found || (found->kind == ResolvedKind::string && found->text == "???");
    if (is_absent_) return not_resolved(place, base::quote(key) + ", which is not there,");
    if (depth_ >= max_resolved_depth) return not_resolved(place, base::quote(key) + ", which goes round in a circle,");
    ++depth_;
    Setting value = resolved(*found, names);
    --depth_;
    is_absent_ = false;
    return value;
  }

  const SettingTree& tree_;
  const std::map<std::string, std::string>& environment_;
  std::int64_t left_ = max_resolved;
  int depth_ = 0;
  bool is_absent_ = false;
};

}  // namespace

base::Status resolve(SettingTree& tree, const std::map<std::string, std::string>& environment) {
  Resolver resolver(tree, environment);
  Setting root = resolver.resolved(tree.root, {});
  if (resolver.is_too_large()) {
    const auto source = static_cast<std::size_t>(tree.root.place.source);
    return base::Error{.failure = base::Failure::bad_input,
                       .path = source < tree.sources.size() ? tree.sources[source] : std::string(),
                       .line = tree.root.place.line,
                       .column = tree.root.place.column,
                       .message = "interpolations make the configuration too large; accepted: settings of a trainer"};
  }
  tree.root = std::move(root);
  return {};
}

}  // namespace dovetail::syntax
