#include "records/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "records/event_reader.h"
#include "records/saved_models.h"
#include "support/temporary_folder.h"

namespace dovetail::records {
namespace {

using test::content_of;
using testing::HasSubstr;

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
  const auto paths = event_files_in(folder.path());
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
    const auto paths = event_files_in(folder.path());
    const std::vector<Event> events = events_in(paths.back());
    ASSERT_EQ(events.size(), paths.size() == 1 ? 2U : 3U);
    EXPECT_EQ(events.back().step, first);
    EXPECT_EQ(events.back().scalars[0].second, static_cast<float>(first));
    if (paths.size() == 1) continue;
    EXPECT_EQ(events[1].session, 1U);  // START
    EXPECT_EQ(events[1].step, first);
  }
  EXPECT_EQ(event_files_in(folder.path()).size(), 4U);
}

TEST(EventFile, ComesAfterOneOfALaterClock) {
  const test::TemporaryFolder folder;
  folder.write("events.out.tfevents.9999999998.elsewhere", "");
  folder.write("unrelated", "");
  opened(folder, 5);
  EXPECT_EQ(std::filesystem::path(event_files_in(folder.path())[1]).filename(),
            "events.out.tfevents.9999999999.dovetail");
}

TEST(EventFile, OnAFullDiskHasWholeRecords) {
  const test::TemporaryFolder folder;
  EventFile file = opened(folder, 1);
  const std::string path = event_files_in(folder.path())[0];
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
