#include "parallel/message.h"

#include <cstring>

#include "base/assert.h"

namespace dovetail::parallel {

void put(std::string& message, std::int64_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  message.append(bytes, sizeof value);
}

std::int64_t take(std::string_view& message) {
  std::int64_t value = 0;
  DOVETAIL_ASSERT(message.size() >= sizeof value);
  std::memcpy(&value, message.data(), sizeof value);
  message.remove_prefix(sizeof value);
  return value;
}

}  // namespace dovetail::parallel
