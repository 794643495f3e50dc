#include "records/folder_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "support/temporary_folder.h"

namespace dovetail::records {
namespace {

TEST(FolderLock, IsOfOneProgramAtATime) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("runs/new");
  {
    const auto first = FolderLock::take(path);
    ASSERT_TRUE(first.ok());
    EXPECT_TRUE(std::filesystem::is_directory(path));
    const auto second = FolderLock::take(path);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(to_text(second.error()),
              path + ": another program runs in this folder; accepted: to wait for its end, or another folder");
    EXPECT_EQ(second.error().failure, base::Failure::bad_input);
  }
  EXPECT_TRUE(FolderLock::take(path).ok());
}

TEST(FolderLock, EndsWithAProgramThatIsKilled) {
  const test::TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lock = FolderLock::take(folder.path());
    const char told = lock.ok() ? '1' : '0';
    if (::write(ready[1], &told, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  EXPECT_EQ(told, '1');
  EXPECT_FALSE(FolderLock::take(folder.path()).ok());
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(FolderLock::take(folder.path()).ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(FolderLock, OfAFileIsAnError) {
  const test::TemporaryFolder folder;
  const auto lock = FolderLock::take(folder.write("file", ""));
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.error().failure, base::Failure::io);
}

}  // namespace
}  // namespace dovetail::records
