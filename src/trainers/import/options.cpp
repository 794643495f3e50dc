#include "trainers/import/options.h"

#include <charconv>
#include <system_error>

namespace dovetail::trainers {

std::optional<std::int64_t> plain_length(const std::optional<std::string>& said) {
  if (!said) return std::nullopt;
  std::int64_t length = 0;
  const auto [end, fault] = std::from_chars(said->data(), said->data() + said->size(), length);
  if (fault != std::errc() || end != said->data() + said->size() || length < 1) return std::nullopt;
  return length;
}

}  // namespace dovetail::trainers
