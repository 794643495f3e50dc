#include "base/input_size.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace dovetail::base {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

struct KindFacts {
  std::string_view name;
  std::size_t largest;
};

/// [kind]
constexpr std::array<KindFacts, 4> kinds{
    {{"JSON", 192 * mebibyte}, {"YAML", 64 * mebibyte}, {"CSV", 32 * mebibyte}, {"text in lines", 64 * mebibyte}}};

const KindFacts& facts_of(InputKind kind) { return kinds.at(static_cast<std::size_t>(kind)); }

Status check(std::size_t bytes, std::size_t largest, std::string_view what, const std::string& path) {
  if (bytes <= largest) return {};
  return Error{.failure = Failure::bad_input,
               .path = path,
               .message = fmt::format("the file is too large, {} bytes; accepted: at most {} MiB ({} bytes) of {}",
                                      bytes, largest / mebibyte, largest, what)};
}

}  // namespace

std::size_t max_input(InputKind kind) { return facts_of(kind).largest; }

std::size_t max_input() { return max_input(InputKind::json); }

Status check_input_size(InputKind kind, std::size_t bytes, const std::string& path) {
  return check(bytes, facts_of(kind).largest, facts_of(kind).name, path);
}

Status check_input_size(std::size_t bytes, const std::string& path) {
  return check(bytes, max_input(), "any input", path);
}

}  // namespace dovetail::base
