// Values in files. The first part reads formats, names, strings, booleans and numbers. The second part defines the
// kinds of values that fields of a described struct (descriptor.h) can have, and reads, writes and checks each kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/document.h"
#include "base/enum_names.h"
#include "base/quantity.h"
#include "base/result.h"

namespace dovetail::base {

/// Checks that `map` has a key named "format" whose value equals the argument `format`. Call this before reading other
/// keys, so that a file of another kind is reported as such. `what` names the file in messages ("a job").
Status require_format(const Node& map, std::string_view what, std::string_view format);

/// Whether `text` is a valid name: not empty, and without control characters (has_controls).
bool is_name(std::string_view text);

/// Reads a name, the value of `key`. Returns an Error at `node` if it is not a string, is empty or has control
/// characters.
Result<std::string> read_name(const Node& node, std::string_view key);

/// Reads a non-empty string. An Error at `node` names `what`.
Result<std::string> read_text(const Node& node, std::string_view what);

/// Reads the name at `key` of a map; empty if the key is missing.
Result<std::string> find_name(const Node& map, std::string_view key);

/// Reads the boolean at `node`. `key` is its key, for messages.
Result<bool> read_flag(const Node& node, std::string_view key);

/// Reads a number in [min, max], rounded to the nearest double. An Error at `node` names `what` and the range.
Result<double> read_number(const Node& node, std::string_view what, double min, double max);

/// Reads a number of seconds from 0 to 10^6, rounded to the nearest nanosecond. An Error at `node` names `what`.
Result<Ticks> read_seconds(const Node& node, std::string_view what);

/// Reads a list in which each item is one of the names in `accepted` and appears only once. `key` is the key of the
/// list, for messages.
Result<std::vector<std::string_view>> read_names(const Node& node, std::string_view key,
                                                 const std::vector<std::string_view>& accepted);

/// Returns an Error at `node`, the value of `key`: the key is accepted only together with the setting that `only_with`
/// names.
Error without_companion(const Node& node, std::string_view key, std::string_view only_with);

/// Returns `pattern` with `text` in place of {}. If `pattern` is empty, returns `key` followed by `text`.
std::string phrase(std::string_view pattern, std::string_view key, std::string_view text);

/// An integer in [min, max].
struct Integer {
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

/// An enum value, written as its name (enum_names.h).
struct Choice {};

/// A list of integers in [min, max]. `each` names one of them in messages.
struct IntegerList {
  std::string_view each;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// A time in seconds, stored as integer nanoseconds.
struct Seconds {};

/// A time above 0 such as "10s" or "500ms", stored as seconds. A number without a unit is in seconds.
struct Duration {};

/// A list of exactly `count` numbers in [min, max]. `each` names one of them in messages.
struct NumberList {
  std::string_view each;
  double min = 0;
  double max = 0;
  std::size_t count = 0;
};

/// A number in [min, max], or `none`. Stored as a std::optional, which is nullopt for `none`.
struct OptionalNumber {
  double min = 0;
  double max = 0;
};

/// A non-empty string.
struct Text {};

/// A list of non-empty strings. `each` names one of them in messages.
struct TextList {
  std::string_view each;
};

/// A name (read_name).
struct Name {};

/// An optional described struct, stored as a std::optional. Members without a key in its map have their defaults.
struct OptionalStruct {};

/// A described struct, stored as such. Members without a key in its map keep the values that they already have.
struct NestedStruct {};

// Each read_value() reads `node`, the value of `key`, into `value`. An invalid value is an Error at `node`, or at the
// invalid item of a list.

template <class Value>
  requires std::is_arithmetic_v<Value>
Status read_value(const Node& node, std::string_view key, const Integer& kind, Value& value) {
  DOVETAIL_TRY(const std::int64_t integer, read_integer(node, quote(key), kind.min, kind.max));
  value = static_cast<Value>(integer);
  return {};
}

template <class Enum>
Status read_value(const Node& node, std::string_view key, Choice, Enum& value) {
  DOVETAIL_TRY(value, read_enum<Enum>(node, quote(key)));
  return {};
}

Status read_value(const Node& node, std::string_view key, const Number& kind, double& value);
Status read_value(const Node& node, std::string_view key, Flag, bool& value);
Status read_value(const Node& node, std::string_view key, const IntegerList& kind, std::vector<int>& value);
Status read_value(const Node& node, std::string_view key, Seconds, Ticks& value);
Status read_value(const Node& node, std::string_view key, Duration, double& value);
Status read_value(const Node& node, std::string_view key, const NumberList& kind, std::vector<double>& value);
Status read_value(const Node& node, std::string_view key, const OptionalNumber& kind, std::optional<double>& value);
Status read_value(const Node& node, std::string_view key, Text, std::string& value);
Status read_value(const Node& node, std::string_view key, const TextList& kind, std::vector<std::string>& value);
Status read_value(const Node& node, std::string_view key, Name, std::string& value);

// Each json_of() returns a value as JSON.

std::string json_of(const Integer& kind, std::int64_t value);
std::string json_of(const Integer& kind, double value);  // stored as a double, an integer in files
std::string json_of(const Number& kind, double value);
std::string json_of(Flag, bool value);
std::string json_of(const IntegerList& kind, const std::vector<int>& value);
std::string json_of(Seconds, Ticks value);
std::string json_of(Duration, double value);
std::string json_of(const NumberList& kind, const std::vector<double>& value);
std::string json_of(const OptionalNumber& kind, std::optional<double> value);
std::string json_of(Text, const std::string& value);
std::string json_of(const TextList& kind, const std::vector<std::string>& value);
std::string json_of(Name, const std::string& value);

inline std::string json_of(const Integer& kind, int value) { return json_of(kind, std::int64_t{value}); }

template <class Enum>
std::string json_of(Choice, Enum value) {
  return json_of(Name{}, std::string(enum_name(value)));
}

/// Returns the text of a value for sentences: the phrase of an enum value ("nothing recomputed"), otherwise the JSON
/// ("0.9").
template <class Kind, class Value>
std::string text_of(const Kind& kind, const Value& value) {
  if constexpr (std::is_same_v<Kind, Choice>)
    return std::string(enum_text(value));
  else
    return json_of(kind, value);
}

/// Returns "WHAT is 0; accepted: 1 to 8" if the number is outside its limits, otherwise nullopt.
std::optional<std::string> out_of_range(std::string_view what, std::int64_t value, const Integer& kind);
std::optional<std::string> out_of_range(std::string_view what, double value, const Number& kind);

}  // namespace dovetail::base
