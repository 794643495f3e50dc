#include "base/sha256.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace dovetail::base {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  // nettle takes uint8_t; it may look at the bytes of anything.
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
