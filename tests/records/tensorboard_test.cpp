#include "records/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "records/saved_models.h"
#include "support/temporary_folder.h"

namespace dovetail::records {
namespace {

using test::content_of;
using testing::HasSubstr;

/// Division of polynomials over two elements, bit by bit (Castagnoli's, the lowest bit first).
std::uint32_t slow_crc(std::string_view bytes) {
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

/// What a message of protocol buffers says: numbers, or bytes, by field.
struct Field {
  std::uint64_t number = 0;
  std::string bytes;
};
using Message = std::multimap<std::uint64_t, Field>;

/// A reader of bytes that fails the test where they end too early.
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

void check_sum(std::string_view bytes, std::uint32_t masked) {
  const std::uint32_t crc = slow_crc(bytes);
  EXPECT_EQ(masked, ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U);
}

Event event_of(std::string_view bytes) {
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

std::vector<Event> events_in(const std::string& path) {
  const std::string content = content_of(path);
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

/// In the order in which TensorBoard reads them.
std::vector<std::string> files_in(const test::TemporaryFolder& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

EventFile opened(const test::TemporaryFolder& folder, std::int64_t first_step) {
  auto file = EventFile::open(folder.path(), first_step);
  EXPECT_TRUE(file.ok());
  return std::move(file).value();
}

TEST(Crc32c, IsThatOfItsStandard) {
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(""), 0U);
}

RC_GTEST_PROP(Crc32c, IsThatOfASlowDivision, (const std::string& bytes)) {
  RC_ASSERT(crc32c(bytes) == slow_crc(bytes));
}

TEST(EventFile, HasItsVersionAndTheScalarsOfEachStep) {
  const test::TemporaryFolder folder;
  const double begin = now();
  EventFile file = opened(folder, 1);
  ASSERT_TRUE(file.add({{"iteration", 1}, {"reward", 0.25}, {"seconds", 3, true}}, 1, "train").ok());
  ASSERT_TRUE(file.add({{"iteration", 300}, {"reward", std::nan("")}}, 300, "evaluation").ok());
  const auto paths = files_in(folder);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_THAT(paths[0], HasSubstr("/events.out.tfevents."));
  const std::vector<Event> events = events_in(paths[0]);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_FALSE(events[0].session);
  EXPECT_EQ(events[1].step, 1);
  ASSERT_EQ(events[1].scalars.size(), 2U);
  EXPECT_EQ(events[1].scalars[0], std::pair(std::string("train/reward"), 0.25F));
  EXPECT_EQ(events[1].scalars[1], std::pair(std::string("timing/seconds"), 3.0F));
  EXPECT_EQ(events[2].step, 300);
  ASSERT_EQ(events[2].scalars.size(), 1U);
  EXPECT_EQ(events[2].scalars[0].first, "evaluation/reward");
  EXPECT_TRUE(std::isnan(events[2].scalars[0].second));
  for (const Event& event : events) {
    EXPECT_GE(event.wall_time, begin);
    EXPECT_LE(event.wall_time, now());
  }
}

TEST(EventFile, OfAResumedRunComesLastAndDropsWhatIsAfterIt) {
  const test::TemporaryFolder folder;
  for (std::int64_t first : {1, 21, 11, 1}) {
    EventFile file = opened(folder, first);
    ASSERT_TRUE(file.add({{"iteration", 1}, {"reward", static_cast<double>(first)}}, first, "train").ok());
    const auto paths = files_in(folder);
    const std::vector<Event> events = events_in(paths.back());
    ASSERT_EQ(events.size(), paths.size() == 1 ? 2U : 3U);
    EXPECT_EQ(events.back().step, first);
    EXPECT_EQ(events.back().scalars[0].second, static_cast<float>(first));
    if (paths.size() == 1) continue;
    EXPECT_EQ(events[1].session, 1U);  // START
    EXPECT_EQ(events[1].step, first);
  }
  EXPECT_EQ(files_in(folder).size(), 4U);
}

TEST(EventFile, ComesAfterOneOfALaterClock) {
  const test::TemporaryFolder folder;
  folder.write("events.out.tfevents.9999999998.elsewhere", "");
  folder.write("unrelated", "");
  opened(folder, 5);
  EXPECT_EQ(std::filesystem::path(files_in(folder)[1]).filename(), "events.out.tfevents.9999999999.dovetail");
}

TEST(EventFile, OnAFullDiskHasWholeRecords) {
  const test::TemporaryFolder folder;
  EventFile file = opened(folder, 1);
  const std::string path = files_in(folder)[0];
  const std::string before = content_of(path);
  {
    const FullDisk full(before.size() + 20);
    const base::Status status = file.add({{"iteration", 1}, {"reward", 1}}, 1, "train");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().path, path);
  }
  EXPECT_EQ(content_of(path), before);
  EXPECT_FALSE(EventFile::open(folder.file("none"), 1).ok());
}

}  // namespace
}  // namespace dovetail::records
