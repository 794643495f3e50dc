#include "base/hash.h"

#include <fmt/core.h>
#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace dovetail::base {
namespace {

std::string canonical_string(std::string_view text) {
  constexpr std::string_view short_escapes = "\b\t\n\f\r\"\\";
  constexpr std::string_view letters = "btnfr\"\\";
  std::string quoted = "\"";
  for (const char character : text) {
    if (const std::size_t which = short_escapes.find(character); which != std::string_view::npos)
      quoted += {'\\', letters[which]};
    else if (static_cast<unsigned char>(character) < 0x20)
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(character));
    else
      quoted += character;
  }
  return quoted + "\"";
}

/// Formats a number like ECMAScript's Number::toString (ECMA-262, 6.1.6.1.20): the shortest digits that parse back to
/// the same double, with an exponent below 1e-6 and from 1e21. REQUIRES: value is finite.
std::string number_text(double value) {
  if (value == 0) return "0";
  std::array<char, 32> buffer{};
  const char* const end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  const std::string_view written(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const std::string_view sign = written.substr(0, written.front() == '-' ? 1 : 0);
  const std::size_t exponent_at = written.find('e');
  std::string digits(written.substr(sign.size(), exponent_at - sign.size()));
  std::erase(digits, '.');
  const int exponent = std::stoi(std::string(written.substr(exponent_at + 1)));
  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;  // number of digits before the decimal point
  if (point > 21 || point < -5) {
    const std::string_view rest = std::string_view(digits).substr(1);
    return fmt::format("{}{}{}{}e{:+}", sign, digits.front(), rest.empty() ? "" : ".", rest, exponent);
  }
  const auto zeros = [](int number) { return std::string(static_cast<std::size_t>(number), '0'); };
  if (point >= count) return fmt::format("{}{}{}", sign, digits, zeros(point - count));
  if (point > 0)
    return fmt::format("{}{}.{}", sign, digits.substr(0, static_cast<std::size_t>(point)),
                       digits.substr(static_cast<std::size_t>(point)));
  return fmt::format("{}0.{}{}", sign, zeros(-point), digits);
}

std::string canonical_number(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0.0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  // Beyond the range of doubles. Readers refuse such a number, so it stays as written.
  if (code != std::errc() || end != digits.data() + digits.size()) return std::string(text);
  return number_text(value);
}

std::string canonical_map(const Node& map, std::string_view left_out) {
  std::vector<std::size_t> order;
  for (std::size_t member = 0; member < map.size(); ++member)
    if (left_out.empty() || map.key(member) != left_out) order.push_back(member);
  std::sort(order.begin(), order.end(), [&map](std::size_t a, std::size_t b) { return map.key(a) < map.key(b); });
  std::string text;
  for (const std::size_t member : order)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", canonical_string(map.key(member)),
                        canonical_json(map.value(member)));
  return fmt::format("{{{}}}", text);
}

}  // namespace

std::string canonical_json(const Node& value, std::string_view left_out) {
  if (value.is_map()) return canonical_map(value, left_out);
  if (value.is_list()) {
    std::string text;
    for (std::size_t item = 0; item < value.size(); ++item)
      text += (item > 0 ? "," : "") + canonical_json(value.item(item));
    return fmt::format("[{}]", text);
  }
  if (value.is_string()) return canonical_string(value.text());
  if (value.is_number()) return canonical_number(value.text());
  return value.is_boolean() ? std::string(value.text()) : "null";
}

std::string canonical_json(std::string_view json) {
  const auto document = parse_json(json, {});
  DOVETAIL_ASSERT(document.ok());
  return canonical_json(document->root());
}

namespace {

constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  // nettle takes uint8_t, which may alias any object.
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, bytes.size(), begin);
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&context, digest.size(), digest.data());
  std::string hex;
  for (const std::uint8_t byte : digest) {
    hex += digits[byte >> 4U];
    hex += digits[byte & 15U];
  }
  return hex;
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == std::size_t{2} * SHA256_DIGEST_SIZE &&
         std::all_of(text.begin(), text.end(), [](char digit) { return digits.find(digit) != std::string_view::npos; });
}

}  // namespace dovetail::base
