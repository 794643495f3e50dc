#include "base/growing_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace dovetail::base {
namespace {

namespace fs = std::filesystem;

class Growing : public testing::Test {
 protected:
  Growing() {
    folder_ = fs::path(testing::TempDir()) /
              ("growing-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = (folder_ / "run.log").string();
  }
  ~Growing() override { fs::remove_all(folder_); }

  void append(const std::string& text) const { std::ofstream(path_, std::ios::app | std::ios::binary) << text; }
  void replace(const std::string& text) const { std::ofstream(path_, std::ios::trunc | std::ios::binary) << text; }

  fs::path folder_;
  std::string path_;
};

TEST_F(Growing, ReadsEachByteOnce) {
  GrowingFile file(path_);
  EXPECT_EQ(file.read_new()->bytes, "");
  EXPECT_FALSE(file.exists());
  std::string all;
  std::string read;
  for (int line = 0; line < 300; ++line) {
    const std::string text = "line " + std::to_string(line) + std::string(static_cast<std::size_t>(line * 7), 'x');
    append(text);
    all += text;
    if (line % 3 == 0) continue;
    const auto added = file.read_new();
    ASSERT_TRUE(added.ok());
    EXPECT_FALSE(added->restarted);
    read += added->bytes;
  }
  read += file.read_new()->bytes;
  EXPECT_EQ(read, all);
  EXPECT_TRUE(file.exists());
}

TEST_F(Growing, RereadsARewrittenFile) {
  GrowingFile file(path_);
  append("one\ntwo\n");
  EXPECT_EQ(file.read_new()->bytes, "one\ntwo\n");
  replace("1\n");
  const auto shorter = file.read_new();
  EXPECT_EQ(shorter->bytes, "1\n");
  EXPECT_TRUE(shorter->restarted);
  replace("another one that is longer\n");
  const auto longer = file.read_new();
  EXPECT_EQ(longer->bytes, "another one that is longer\n");
  EXPECT_TRUE(longer->restarted);
}

TEST_F(Growing, ReadsARotatedFileToItsEndFirst) {
  GrowingFile file(path_);
  append("one\n");
  EXPECT_EQ(file.read_new()->bytes, "one\n");
  append("two");
  fs::rename(path_, path_ + ".1");
  const auto rest = file.read_new();
  EXPECT_EQ(rest->bytes, "two");
  EXPECT_FALSE(rest->restarted);
  std::ofstream(path_ + ".1", std::ios::app) << " and a half";
  append("three\n");
  const auto next = file.read_new();
  EXPECT_EQ(next->bytes, " and a half\nthree\n");
  EXPECT_TRUE(next->restarted);
  append("four\n");
  EXPECT_EQ(file.read_new()->bytes, "four\n");
}

TEST_F(Growing, RejectsAFolder) {
  GrowingFile file(folder_.string());
  const auto added = file.read_new();
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().failure, Failure::io);
}

}  // namespace
}  // namespace dovetail::base
