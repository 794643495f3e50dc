#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>

#include "base/input_size.h"
#include "base/open_file.h"

namespace dovetail::base {

namespace {

/// The paths that were read. Threads may read at once.
class ReadPaths {
 public:
  void add(const std::string& path) {
    const std::lock_guard guard(mutex_);
    paths_.insert(path == "-" ? "/dev/stdin" : path);
  }
  std::optional<std::string> find(const std::string& path) {
    const std::lock_guard guard(mutex_);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
    for (const std::string& known : paths_) {
      if (std::filesystem::equivalent(path, known, ignored)) return known;
    }
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

ReadPaths read_paths;

/// The size of a regular file; 0 of a pipe, and where it is not known.
std::size_t size_of(int descriptor) {
  struct stat facts{};
  const bool known = ::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
  return known ? static_cast<std::size_t>(facts.st_size) : 0;
}

Result<std::string> read_all(int descriptor, const std::string& shown_path) {
  DOVETAIL_CHECK(check_input_size(size_of(descriptor), shown_path));
  std::string content;
  content.reserve(size_of(descriptor) + 1);
  std::string block(std::size_t{1} << 18, '\0');
  while (true) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(shown_path, "cannot be read", errno);
    content.append(block, 0, static_cast<std::size_t>(got));
    DOVETAIL_CHECK(check_input_size(content.size(), shown_path));
  }
}

}  // namespace

std::string display_path(const std::string& path) { return path == "-" ? "<stdin>" : path; }

std::optional<std::string> read_as(const std::string& path) { return read_paths.find(path); }

void count_as_read(const std::string& path) { read_paths.add(path); }

Result<std::string> read_file(const std::string& path) {
  read_paths.add(path);
  if (path == "-") return read_all(STDIN_FILENO, display_path(path));
  const Descriptor file(open_file(path, O_RDONLY));
  if (!file.is_open()) return io_error(path, "cannot be read", errno);
  return read_all(file.number(), path);
}

}  // namespace dovetail::base
