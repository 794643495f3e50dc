// Adds the options of a request (answer/question/option.h) to a command.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "answer/question/input.h"
#include "answer/question/option.h"
#include "base/enum_names.h"
#include "base/quantity.h"
#include "cli/arguments.h"
#include "cli/commands.h"

namespace dovetail::cli {

/// Name and help of a command-line option.
struct Flagged {
  std::string name;       ///< "--time-limit", or "JOB" for a positional argument
  std::string help;       ///< description in --help
  bool required = false;  ///< the command line is rejected without the option
};

// Each function adds one option. If the option is given on the command line, its value is stored in `value` or passed
// to `take`. Values that the option's kind does not accept are rejected.
void add_option(CLI::App& command, const Flagged& flagged, answer::Flag kind, bool& value);
void add_option(CLI::App& command, const Flagged& flagged, answer::File kind, std::function<void(answer::Input)> take);
void add_option(CLI::App& command, const Flagged& flagged, answer::File kind, std::vector<answer::Input>& values);
/// Also adds the options for reading a trainer's configuration instead of a job file.
void add_option(CLI::App& command, const Flagged& flagged, answer::JobFile kind, answer::JobInput& value);

/// Adds the options that only a trainer's configuration accepts: --gpu, --cluster, --env, ...
void add_import_options(CLI::App& command, trainers::ImportOptions& import);
void add_option(CLI::App& command, const Flagged& flagged, answer::String kind, std::function<void(std::string)> take);
void add_option(CLI::App& command, const Flagged& flagged, answer::String kind, std::vector<std::string>& values);
void add_option(CLI::App& command, const Flagged& flagged, answer::Count kind, std::function<void(std::uint64_t)> take);
void add_option(CLI::App& command, const Flagged& flagged, answer::Seconds kind, std::optional<double>& value);
void add_option(CLI::App& command, const Flagged& flagged, answer::Amount kind, std::optional<base::Memory>& value);
void add_choice(CLI::App& command, const Flagged& flagged, const std::string& choices,
                std::function<void(const std::string&)> take);

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

template <class T>
struct Plain {
  using Type = T;
};
template <class T>
struct Plain<std::optional<T>> {
  using Type = T;
};

/// Replaces {} in an option's help with the default value.
template <class Value>
std::string help_with(const std::string& help, const Value& value) {
  const std::size_t at = help.find("{}");
  if (at == std::string::npos) return help;
  std::string text;
  if constexpr (std::is_enum_v<Value>)
    text = base::enum_name(value);
  else if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>)
    text = fmt::format("{}", value);
  return help.substr(0, at) + text + help.substr(at + 2);
}

/// Returns the names of an enum joined by '|'. If `none` is not empty, it comes first.
template <class Enum>
std::string choices_of(const answer::Choice& kind) {
  const std::string names = fmt::format("{}", fmt::join(base::enum_names<Enum>(), "|"));
  return kind.none.empty() ? names : fmt::format("{}|{}", kind.none, names);
}

template <class Value, class Kind>
void add_value(CLI::App& command, const Flagged& flagged, const Kind& kind, Value& value) {
  using Type = typename Plain<Value>::Type;
  if constexpr (std::is_same_v<Kind, answer::Choice>)
    add_choice(command, flagged, choices_of<Type>(kind), [&value](const std::string& text) {
      if (const auto named = base::enum_named<Type>(text)) value = *named;
    });
  else if constexpr (std::is_same_v<Kind, answer::Count>)
    add_option(command, flagged, kind, [&value](std::uint64_t number) { value = static_cast<Type>(number); });
  else if constexpr (std::is_same_v<Kind, answer::File> && !is_list<Value>)
    add_option(command, flagged, kind, [&value](answer::Input input) { value = std::move(input); });
  else if constexpr (std::is_same_v<Kind, answer::String> && !is_list<Value>)
    add_option(command, flagged, kind, [&value](std::string text) { value = std::move(text); });
  else
    add_option(command, flagged, kind, value);
}

}  // namespace detail

/// Adds all options of `request` except answer::Unlisted ones, including those of nested groups. The current values of
/// its members are the defaults. `request` must outlive `command`.
template <class Request>
void add_request(CLI::App& command, Request& request) {
  answer::for_each_option<Request>([&](const auto& option) {
    auto& value = request.*(option.member);
    using Kind = std::remove_cvref_t<decltype(option.kind)>;
    if constexpr (std::is_same_v<Kind, answer::OptionGroup>) {
      add_request(command, value);
    } else if constexpr (!std::is_same_v<Kind, answer::Unlisted>) {
      const bool positional = option.name.front() >= 'A' && option.name.front() <= 'Z';
      const std::string name = (positional ? "" : "--") + std::string(option.name);
      detail::add_value(command, {name, detail::help_with(option.help, value), option.required || positional},
                        option.kind, value);
    }
  });
}

}  // namespace dovetail::cli
