// How large inputs may be: as much of each kind as can be read with 4 GB of memory, whatever it holds.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace dovetail::base {

/// Kinds of text that are read differently. A list of ones, two bytes a value, takes 14 bytes of memory a byte of JSON
/// and 25 a byte of YAML; CSV of empty cells takes 80. `lines` is text that is read line by line: logs, JSON lines,
/// FlexFusion traces.
enum class InputKind { json, yaml, csv, lines };

/// The most bytes that are read of a kind.
std::size_t max_input(InputKind kind);

/// The most that any input may have.
std::size_t max_input();

/// A bad_input Error where an input of that kind at `path`, for messages, has too many bytes.
Status check_input_size(InputKind kind, std::size_t bytes, const std::string& path);

/// The most bytes that a line of YAML may have: until its end, any of it may turn out to be a key, and takes 250 bytes
/// of memory a byte.
inline constexpr std::size_t max_yaml_line = std::size_t{1} << 20;

/// The same where the kind is not known yet.
Status check_input_size(std::size_t bytes, const std::string& path);

}  // namespace dovetail::base
