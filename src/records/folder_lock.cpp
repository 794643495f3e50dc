#include "records/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/open_file.h"

namespace dovetail::records {

FolderLock::FolderLock(std::unique_ptr<base::Descriptor> folder) : folder_(std::move(folder)) {}
FolderLock::FolderLock(FolderLock&&) noexcept = default;
FolderLock& FolderLock::operator=(FolderLock&&) noexcept = default;
FolderLock::~FolderLock() = default;

base::Result<FolderLock> FolderLock::take(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return base::Error{base::Failure::io, folder, 0, 0, "cannot be made: " + error.message()};
  auto opened = std::make_unique<base::Descriptor>(base::open_file(folder, O_RDONLY | O_DIRECTORY));
  if (!opened->is_open()) return base::io_error(folder, "cannot be opened", errno);
  if (::flock(opened->number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return base::Error{base::Failure::bad_input, folder, 0, 0,
                       "another program runs in this folder; accepted: to wait for its end, or another folder"};
  return FolderLock(std::move(opened));
}

}  // namespace dovetail::records
