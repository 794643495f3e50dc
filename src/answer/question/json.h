// JSON of answers: number formats and output. Included only by files that write JSON, because the JSON library compiles
// slowly.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/quantity.h"

namespace dovetail::answer {

/// JSON object that keeps the order of its keys.
using Json = nlohmann::ordered_json;

/// Returns `decimal` as a JSON number: an integer if possible, otherwise the nearest double. The double prints as the
/// same decimal if `decimal` has at most 15 digits.
Json json_number(const std::string& decimal);
/// Returns a time in `unit` as a JSON number (json_number).
Json json_time(base::Ticks time, base::TimeUnit unit);
/// Returns memory in the unit of the problem's `activation` as a JSON number (json_number).
Json json_memory(base::Memory memory);
/// Returns JSON null for nullopt.
Json json_memory(const std::optional<base::Memory>& memory);
/// Rounds a derived value, such as a ratio, to six decimals.
Json json_ratio(double ratio);
/// Rounds simulated seconds to nanoseconds, so that parts add up.
Json json_simulated(double seconds);
/// Rounds predicted or wall-clock seconds to milliseconds.
Json json_seconds(double seconds);
/// Parses JSON text. REQUIRES: it is valid.
Json json_parsed(const std::string& text);

/// Returns `object` as text, on one line if `indent` is negative, otherwise on several lines that are indented by
/// `indent` per level. Escapes characters that a terminal would interpret. Invalid UTF-8 becomes U+FFFD.
std::string json_text(const Json& object, int indent = 2);

}  // namespace dovetail::answer
