#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/csv.h"
#include "base/document.h"

namespace dovetail::base {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Gives each test a separate empty folder.
class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/dovetail-file-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> names_in_folder() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    return names;
  }
  static mode_t mode_of(const std::string& path) {
    struct stat facts{};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0);
    return facts.st_mode & 07777;
  }

  std::filesystem::path folder_;
};

TEST_F(File, RoundTrips) {
  const std::string content = std::string("a\0b\n", 4) + std::string(1 << 20, 'x');
  ASSERT_TRUE(write_file(in_folder("new"), content).ok());
  EXPECT_EQ(read_file(in_folder("new")).value(), content);
  ASSERT_TRUE(write_file(in_folder("new"), "").ok());
  EXPECT_EQ(read_file(in_folder("new")).value(), "");
  EXPECT_THAT(names_in_folder(), testing::ElementsAre("new"));
}

TEST_F(File, ReportsAMissingFile) {
  const Error error = read_file(in_folder("missing")).error();
  EXPECT_EQ(error.failure, Failure::io);
  EXPECT_EQ(to_text(error), in_folder("missing") + ": cannot be read: No such file or directory");
  EXPECT_EQ(read_file(folder_.string()).error().message, "cannot be read: Is a directory");
}

TEST_F(File, ReportsAMissingFolder) {
  const Error error = write_file(in_folder("no/where"), "x").error();
  EXPECT_EQ(error.failure, Failure::io);
  EXPECT_EQ(to_text(error), in_folder("no/where") + ": cannot be written: No such file or directory");
  EXPECT_EQ(write_file(folder_.string(), "x").error().message, "cannot be written: Is a directory");
}

TEST_F(File, CreatesWithTheUmask) {
  const mode_t before = ::umask(027);
  const bool written = write_file(in_folder("new"), "x").ok();
  ::umask(before);
  ASSERT_TRUE(written);
  EXPECT_EQ(mode_of(in_folder("new")), 0640U);
}

TEST_F(File, KeepsTheModeOfAReplacedFile) {
  ASSERT_TRUE(write_file(in_folder("old"), "old").ok());
  ASSERT_EQ(::chmod(in_folder("old").c_str(), 0604), 0);
  ASSERT_TRUE(write_file(in_folder("old"), "new").ok());
  EXPECT_EQ(mode_of(in_folder("old")), 0604U);
  EXPECT_EQ(read_file(in_folder("old")).value(), "new");
}

TEST_F(File, ReplacesAtomically) {
  // A reader that has the old file open keeps reading the old content.
  ASSERT_TRUE(write_file(in_folder("file"), "old content").ok());
  const int reader = ::open(in_folder("file").c_str(), O_RDONLY);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(write_file(in_folder("file"), "new").ok());
  char buffer[32];
  const ssize_t got = ::read(reader, buffer, sizeof buffer);
  ::close(reader);
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(got)), "old content");
}

TEST_F(File, WritesThroughLinks) {
  std::filesystem::create_directory(in_folder("inner"));
  std::filesystem::create_symlink("inner/target", in_folder("link"));
  std::filesystem::create_symlink("link", in_folder("link-to-link"));
  ASSERT_TRUE(write_file(in_folder("link-to-link"), "first").ok());
  EXPECT_EQ(read_file(in_folder("inner/target")).value(), "first");
  ASSERT_TRUE(write_file(in_folder("link"), "second").ok());
  EXPECT_EQ(read_file(in_folder("inner/target")).value(), "second");
  EXPECT_TRUE(std::filesystem::is_symlink(in_folder("link")));
  EXPECT_TRUE(std::filesystem::is_symlink(in_folder("link-to-link")));
}

TEST_F(File, ReportsCyclicLinks) {
  std::filesystem::create_symlink("b", in_folder("a"));
  std::filesystem::create_symlink("a", in_folder("b"));
  EXPECT_THAT(write_file(in_folder("a"), "x").error().message, HasSubstr("symbolic links"));
}

TEST_F(File, WritesPipesDirectly) {
  ASSERT_EQ(::mkfifo(in_folder("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(in_folder("pipe")).value(); });
  const Status status = write_file(in_folder("pipe"), "through the pipe");
  reader.join();
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(got, "through the pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(in_folder("pipe")));
  EXPECT_TRUE(write_file("/dev/null", "x").ok());
}

TEST_F(File, ReportsAFullDevice) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  EXPECT_EQ(to_text(write_file("/dev/full", "x").error()), "/dev/full: cannot be written: No space left on device");
}

TEST_F(File, RemovesTheTemporaryFileOnFailure) {
  // The rename fails because a file cannot replace a folder.
  std::filesystem::create_directory(in_folder("folder"));
  EXPECT_FALSE(write_file(in_folder("folder"), "x").ok());
  std::filesystem::remove(in_folder("folder"));
  EXPECT_THAT(names_in_folder(), IsEmpty());
}

TEST_F(File, KeepsAProtectedFile) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  ASSERT_TRUE(write_file(in_folder("old"), "old").ok());
  ASSERT_EQ(::chmod(in_folder("old").c_str(), 0444), 0);
  EXPECT_EQ(write_file(in_folder("old"), "new").error().message, "cannot be written: Permission denied");
  EXPECT_EQ(read_file(in_folder("old")).value(), "old");
}

TEST_F(File, ChecksForWritability) {
  const std::string path = in_folder("answer.json");
  EXPECT_TRUE(check_writable(path).ok());
  EXPECT_TRUE(check_writable("-").ok());
  EXPECT_TRUE(check_writable("/dev/null").ok());
  EXPECT_THAT(names_in_folder(), IsEmpty());
  ASSERT_TRUE(write_file(path, "old").ok());
  EXPECT_TRUE(check_writable(path).ok());
  EXPECT_EQ(read_file(path).value(), "old");
  for (const std::string& wrong : {in_folder("missing/answer.json"), folder_.string(), path + "/answer.json"}) {
    const Status checked = check_writable(wrong);
    ASSERT_FALSE(checked.ok()) << wrong;
    EXPECT_EQ(checked.error().message, write_file(wrong, "new").error().message) << wrong;
    EXPECT_EQ(checked.error().failure, Failure::io);
  }
}

TEST_F(File, WritesDashToStandardOutput) {
  EXPECT_EQ(display_path("-"), "<stdin>");
  EXPECT_EQ(display_path("a/b"), "a/b");
  testing::internal::CaptureStdout();
  EXPECT_TRUE(write_file("-", "to stdout").ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "to stdout");
}

TEST_F(File, DashReadsStandardInput) {
  ASSERT_TRUE(write_file(in_folder("input"), "from stdin").ok());
  const int saved = ::dup(STDIN_FILENO);
  const int input = ::open(in_folder("input").c_str(), O_RDONLY);
  ASSERT_GE(::dup2(input, STDIN_FILENO), 0);
  const Result<std::string> content = read_file("-");
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  ::close(input);
  EXPECT_EQ(content.value(), "from stdin");
}

TEST_F(File, RemovesFilesOfKilledWriters) {
  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
  ASSERT_TRUE(std::filesystem::create_directory(folder_ / "below"));
  const std::string stays = ".dovetail-" + std::to_string(::getpid()) + "-0.tmp";
  const std::string goes = ".dovetail-" + std::to_string(ended) + "-12.tmp";
  for (const std::string& name : {stays, goes, "below/" + goes, goes + "x", std::string(".dovetail-x.tmp")})
    ASSERT_TRUE(write_file(in_folder(name), "half").ok());
  remove_abandoned_files(folder_.string());
  EXPECT_THAT(names_in_folder(), testing::UnorderedElementsAre("below", stays, goes + "x", ".dovetail-x.tmp"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "below"));
  remove_abandoned_files(in_folder("missing"));
}

TEST_F(File, WritesASet) {
  ASSERT_TRUE(write_file(in_folder("a"), "old a").ok());
  ASSERT_TRUE(write_file(in_folder("c"), "old c").ok());
  const std::vector<FileContent> set{{in_folder("a"), "new a"}, {in_folder("b"), "new b"}, {in_folder("c"), "new c"}};
  ASSERT_TRUE(write_files(set).ok());
  for (const FileContent& file : set) EXPECT_EQ(read_file(file.path).value(), file.content);
  EXPECT_THAT(names_in_folder(), testing::UnorderedElementsAre("a", "b", "c"));
}

TEST_F(File, ChangesNothingIfPreparationFails) {
  ASSERT_TRUE(write_file(in_folder("a"), "old").ok());
  const std::vector<FileContent> set{{in_folder("a"), "new"}, {in_folder("none/b"), "new"}};
  EXPECT_EQ(write_files(set).error().path, in_folder("none/b"));
  EXPECT_EQ(read_file(in_folder("a")).value(), "old");
  EXPECT_THAT(names_in_folder(), testing::ElementsAre("a"));
}

TEST_F(File, RejectsASetWithEqualFiles) {
  std::filesystem::create_symlink("target", in_folder("a"));
  std::filesystem::create_symlink("target", in_folder("b"));
  const std::vector<FileContent> set{{in_folder("a"), "one"}, {in_folder("b"), "two"}};
  EXPECT_THAT(write_files(set).error().message, testing::HasSubstr("are the same file"));
  EXPECT_THAT(names_in_folder(), testing::UnorderedElementsAre("a", "b"));
}

TEST_F(File, RestoresASetIfARenameFails) {
  ASSERT_TRUE(write_file(in_folder("a"), "old").ok());
  ASSERT_EQ(::mkfifo(in_folder("pipe").c_str(), 0600), 0);
  // The write to the pipe blocks after the three files are complete under temporary names. Then a folder takes the
  // place of the third one.
  std::thread reader([this] {
    while (names_in_folder().size() < 5) std::this_thread::yield();
    std::filesystem::create_directory(in_folder("c"));
    EXPECT_EQ(read_file(in_folder("pipe")).value(), "x");
  });
  const std::vector<FileContent> set{
      {in_folder("a"), "new"}, {in_folder("b"), "new"}, {in_folder("c"), "new"}, {in_folder("pipe"), "x"}};
  const Status written = write_files(set);
  reader.join();
  EXPECT_EQ(to_text(written.error()), in_folder("c") + ": cannot be written: Is a directory");
  EXPECT_EQ(read_file(in_folder("a")).value(), "old");
  EXPECT_THAT(names_in_folder(), testing::UnorderedElementsAre("a", "c", "pipe"));
}

TEST_F(File, FindsReadFilesByAnyName) {
  ASSERT_TRUE(write_file(in_folder("read"), "x").ok());
  ASSERT_TRUE(write_file(in_folder("other"), "x").ok());
  EXPECT_EQ(read_as(in_folder("read")), std::nullopt);
  ASSERT_TRUE(read_file(in_folder("read")).ok());
  std::filesystem::create_symlink("read", in_folder("link"));
  std::filesystem::create_hard_link(in_folder("read"), in_folder("hard"));
  for (const char* name : {"read", "link", "hard", "./read"})
    EXPECT_EQ(read_as(in_folder(name)), in_folder("read")) << name;
  EXPECT_EQ(read_as(in_folder("other")), std::nullopt);
  EXPECT_EQ(read_as(in_folder("missing")), std::nullopt);
}

constexpr InputKind kinds[] = {InputKind::json, InputKind::yaml, InputKind::csv, InputKind::lines};

TEST(InputSize, IsLimitedByKind) {
  for (const InputKind kind : kinds) {
    const std::size_t largest = max_input(kind);
    EXPECT_TRUE(check_input_size(kind, largest, "f").ok());
    EXPECT_EQ(check_input_size(kind, largest + 1, "f").error().failure, Failure::bad_input);
    EXPECT_LE(largest, max_input());
    EXPECT_TRUE(check_input_size(largest, "f").ok());
  }
  EXPECT_FALSE(check_input_size(max_input() + 1, "f").ok());
}

TEST(InputSize, ReportsTheLimit) {
  EXPECT_EQ(to_text(check_input_size(InputKind::csv, 33'554'433, "t.csv").error()),
            "t.csv: the file is too large (33554433 bytes); accepted: at most 32 MiB (33554432 bytes) of CSV");
}

TEST(InputSize, IsCheckedByTheReaders) {
  const auto refuses = [](const auto& result) {
    return !result.ok() && result.error().message.starts_with("the file is too large") &&
           result.error().failure == Failure::bad_input;
  };
  const std::string blanks(max_input(InputKind::yaml) + 1, ' ');
  EXPECT_TRUE(refuses(parse_csv(blanks, "f")));
  EXPECT_TRUE(refuses(parse_yaml(blanks, "f")));
  EXPECT_FALSE(refuses(parse_json(blanks, "f"))) << "as long as that JSON may be";
  EXPECT_TRUE(refuses(parse_json(std::string(max_input(InputKind::json) + 1, ' '), "f")));
}

TEST(InputSize, LimitsLinesOfYaml) {
  const std::string longest = "- " + std::string(max_yaml_line - 2, 'a');
  EXPECT_TRUE(parse_yaml(longest + "\n" + longest, "f").ok());
  EXPECT_EQ(to_text(parse_yaml("- b\n" + longest + "a\n", "f").error()),
            "f:2:1: the line has 1048577 bytes; accepted: at most 1048576 bytes per line of YAML");
}

}  // namespace
}  // namespace dovetail::base
