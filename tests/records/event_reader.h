// Reads TensorBoard event files back, with code that is independent of their writer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/temporary_folder.h"

namespace dovetail::records {

/// Divides polynomials over GF(2) bit by bit (Castagnoli, lowest bit first).
inline std::uint32_t slow_crc(std::string_view bytes) {
  std::uint32_t rest = 0xFFFFFFFF;
  for (const char byte : bytes)
    for (unsigned bit = 0; bit < 8; ++bit) {
      const std::uint32_t in = (static_cast<unsigned char>(byte) >> bit) & 1U;
      const bool is_odd = ((rest ^ in) & 1U) != 0;
      rest >>= 1U;
      if (is_odd) rest ^= 0x82F63B78U;
    }
  return ~rest;
}

/// Contents of a protocol buffer message: numbers or bytes, by field.
struct Field {
  std::uint64_t number = 0;
  std::string bytes;
};
using Message = std::multimap<std::uint64_t, Field>;

/// A reader of bytes that fails the test if they end too early.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool is_done() const { return rest_.empty(); }
  std::string take(std::size_t count) {
    EXPECT_LE(count, rest_.size());
    const std::string taken(rest_.substr(0, count));
    rest_.remove_prefix(std::min(count, rest_.size()));
    return taken;
  }
  template <class T>
  T number() {
    T number{};
    const std::string bytes = take(sizeof(T));
    std::memcpy(&number, bytes.data(), bytes.size());
    return number;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !is_done(); shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) break;
    }
    return value;
  }
  Message message() {
    Message message;
    while (!is_done()) {
      const std::uint64_t key = varint();
      Field field;
      switch (key & 7U) {
        case 0:
          field.number = varint();
          break;
        case 1:
          field.number = number<std::uint64_t>();
          break;
        case 2:
          field.bytes = take(varint());
          break;
        case 5:
          field.number = number<std::uint32_t>();
          break;
        default:
          ADD_FAILURE() << "wire type " << (key & 7U);
          return message;
      }
      message.emplace(key >> 3U, field);
    }
    return message;
  }

 private:
  std::string_view rest_;
};

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version;
  std::optional<std::uint64_t> session;
  std::vector<std::pair<std::string, float>> scalars;
};

inline void check_sum(std::string_view bytes, std::uint32_t masked) {
  const std::uint32_t crc = slow_crc(bytes);
  EXPECT_EQ(masked, ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U);
}

inline Event event_of(std::string_view bytes) {
  Event event;
  for (const auto& [field, value] : Reader(bytes).message()) {
    if (field == 1) event.wall_time = std::bit_cast<double>(value.number);
    if (field == 2) event.step = static_cast<std::int64_t>(value.number);
    if (field == 3) event.version = value.bytes;
    if (field == 7) event.session = Reader(value.bytes).message().find(1)->second.number;
    if (field != 5) continue;
    for (const auto& [inner, scalar] : Reader(value.bytes).message()) {
      EXPECT_EQ(inner, 1U);
      const Message parts = Reader(scalar.bytes).message();
      const auto bits = static_cast<std::uint32_t>(parts.find(2)->second.number);
      event.scalars.emplace_back(parts.find(1)->second.bytes, std::bit_cast<float>(bits));
    }
  }
  return event;
}

inline std::vector<Event> events_in(const std::string& path) {
  const std::string content = test::content_of(path);
  std::vector<Event> events;
  Reader reader(content);
  while (!reader.is_done()) {
    const std::string length = reader.take(8);
    check_sum(length, reader.number<std::uint32_t>());
    std::uint64_t count = 0;
    std::memcpy(&count, length.data(), sizeof(count));
    const std::string bytes = reader.take(count);
    check_sum(bytes, reader.number<std::uint32_t>());
    events.push_back(event_of(bytes));
  }
  return events;
}

/// Returns the event files in the order in which TensorBoard reads them.
inline std::vector<std::string> event_files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace dovetail::records
