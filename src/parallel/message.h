// Whole numbers in the messages that processes of one program send each other: eight bytes each, as the machine has
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dovetail::parallel {

/// Puts `value` behind what the message has.
void put(std::string& message, std::int64_t value);

/// The value at the beginning of the message, which has the rest from then on. REQUIRES: there is one: messages come
/// from the same program.
std::int64_t take(std::string_view& message);

}  // namespace dovetail::parallel
