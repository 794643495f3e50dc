// What the fields of a struct can be (descriptor.h): how each kind is read from a document, written as JSON and said in
// words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/document.h"
#include "base/enum_names.h"
#include "base/fields.h"
#include "base/quantity.h"
#include "base/result.h"

namespace dovetail::base {

/// A whole number in [min, max].
struct Whole {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// A number in [min, max].
struct Number {
  double min = 0;
  double max = 0;
};

/// True or false.
struct Flag {};

/// A value of an enum, by its name (enum_names.h).
struct Choice {};

/// Whole numbers in [min, max]; `each` names one of them in messages.
struct WholeList {
  std::string_view each;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// A time in seconds, held as whole nanoseconds.
struct Seconds {};

/// A time as an amount ("10s", "500ms"), in seconds where it has no unit, held as seconds.
struct Duration {};

/// Numbers in [min, max], as many as `count`; `each` names one of them in messages.
struct NumberList {
  std::string_view each;
  double min = 0;
  double max = 0;
  std::size_t count = 0;
};

/// A number in [min, max], or `none`: a std::optional.
struct MaybeNumber {
  double min = 0;
  double max = 0;
};

/// A text that is not empty.
struct Text {};

/// Texts that are not empty.
struct TextList {
  std::string_view each;
};

/// A name (read_name).
struct Name {};

/// A struct with fields of its own, which need not be there: a std::optional.
struct Part {};

/// A struct with fields of its own, each with its default.
struct Inner {};

// Reads the value of `key`; an Error at `node` where it is none.

template <class Value>
  requires std::is_arithmetic_v<Value>
Status read_value(const Node& node, std::string_view key, const Whole& kind, Value& value) {
  DOVETAIL_TRY(const std::int64_t whole, read_whole(node, quote(key), kind.min, kind.max));
  value = static_cast<Value>(whole);
  return {};
}

template <class Enum>
Status read_value(const Node& node, std::string_view key, Choice, Enum& value) {
  DOVETAIL_TRY(value, read_enum<Enum>(node, quote(key)));
  return {};
}

Status read_value(const Node& node, std::string_view key, const Number& kind, double& value);
Status read_value(const Node& node, std::string_view key, Flag, bool& value);
Status read_value(const Node& node, std::string_view key, const WholeList& kind, std::vector<int>& value);
Status read_value(const Node& node, std::string_view key, Seconds, Ticks& value);
Status read_value(const Node& node, std::string_view key, Duration, double& value);
Status read_value(const Node& node, std::string_view key, const NumberList& kind, std::vector<double>& value);
Status read_value(const Node& node, std::string_view key, const MaybeNumber& kind, std::optional<double>& value);
Status read_value(const Node& node, std::string_view key, Text, std::string& value);
Status read_value(const Node& node, std::string_view key, const TextList& kind, std::vector<std::string>& value);
Status read_value(const Node& node, std::string_view key, Name, std::string& value);

// A value as JSON.

std::string json_of(const Whole& kind, std::int64_t value);
std::string json_of(const Whole& kind, double value);  // what is whole in files only
std::string json_of(const Number& kind, double value);
std::string json_of(Flag, bool value);
std::string json_of(const WholeList& kind, const std::vector<int>& value);
std::string json_of(Seconds, Ticks value);
std::string json_of(Duration, double value);
std::string json_of(const NumberList& kind, const std::vector<double>& value);
std::string json_of(const MaybeNumber& kind, std::optional<double> value);
std::string json_of(Text, const std::string& value);
std::string json_of(const TextList& kind, const std::vector<std::string>& value);
std::string json_of(Name, const std::string& value);

inline std::string json_of(const Whole& kind, int value) { return json_of(kind, std::int64_t{value}); }

template <class Enum>
std::string json_of(Choice, Enum value) {
  return json_of(Name{}, std::string(enum_name(value)));
}

/// A value in sentences: "0.9", "nothing recomputed".
template <class Kind, class Value>
std::string text_of(const Kind& kind, const Value& value) {
  if constexpr (std::is_same_v<Kind, Choice>)
    return std::string(enum_words(value));
  else
    return json_of(kind, value);
}

/// "WHAT is 0; accepted: 1 to 8" of a number beyond its limits.
std::optional<std::string> out_of_range(std::string_view what, std::int64_t value, const Whole& kind);
std::optional<std::string> out_of_range(std::string_view what, double value, const Number& kind);

}  // namespace dovetail::base
