#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

namespace dovetail::base {

namespace {

constexpr std::size_t largest_file = std::size_t{2} << 30;

/// An I/O Error about `path` with the system's reason for `code`.
Error io_error(const std::string& path, std::string_view what, int code) {
  return Error{.failure = Failure::io,
               .path = path,
               .line = 0,
               .column = 0,
               .message = fmt::format("{}: {}", what, std::generic_category().message(code))};
}

/// An open file, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Closes it now; 0 or errno. After an interruption the descriptor is gone all the same.
  int close() {
    const int closed = ::close(std::exchange(number_, -1));
    return closed == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  int number_;
};

int open_file(const std::string& path, int flags, mode_t mode = 0) {
  int number = -1;
  do {
    number = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (number < 0 && errno == EINTR);
  return number;
}

/// Writes all of `content`; 0 or errno.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Flushes to the disk; 0 or errno. Some file systems cannot, which is no fault of the file.
int flush(int descriptor) {
  if (::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP) return 0;
  return errno;
}

/// The file that `path` stands for after its symbolic links, also when the last one points to nothing yet.
std::optional<std::filesystem::path> follow_links(const std::string& path) {
  std::filesystem::path target = path;
  for (int links = 0; links < 40; ++links) {
    std::error_code code;
    const std::filesystem::path next = std::filesystem::read_symlink(target, code);
    if (code) return target;
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return std::nullopt;
}

/// A new file beside `target` under a name that nothing else has; its mode follows the umask.
struct TemporaryFile {
  std::string path;
  int descriptor = -1;
};
TemporaryFile create_beside(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter = 0;
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  TemporaryFile file;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    file.path = (folder / fmt::format(".dovetail-{}-{}.tmp", ::getpid(), counter.fetch_add(1))).string();
    file.descriptor = open_file(file.path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file.descriptor >= 0 || errno != EEXIST) break;
  }
  return file;
}

/// Gives the new file the mode, and as far as allowed the owner, of the one that it replaces; 0 or errno.
int take_over_permissions(int descriptor, const struct stat& replaced) {
  struct stat created{};
  if (::fstat(descriptor, &created) != 0) return errno;
  if (created.st_uid != replaced.st_uid || created.st_gid != replaced.st_gid) {
    // Only a privileged user may; for others the file becomes theirs, as with any editor.
    if (::fchown(descriptor, replaced.st_uid, replaced.st_gid) != 0) errno = 0;
  }
  return ::fchmod(descriptor, replaced.st_mode & 07777) == 0 ? 0 : errno;
}

/// Fills the temporary file and moves it over `target`; 0 or errno.
int fill_and_rename(Descriptor& file, const std::string& temporary, const std::string& target, const struct stat* replaced,
                    std::string_view content) {
  if (replaced != nullptr) {
    if (const int code = take_over_permissions(file.number(), *replaced)) return code;
  }
  if (const int code = write_all(file.number(), content)) return code;
  if (const int code = flush(file.number())) return code;
  if (const int code = file.close()) return code;
  return ::rename(temporary.c_str(), target.c_str()) == 0 ? 0 : errno;
}

/// What is where a file is to be written.
struct Destination {
  bool is_there = false;
  struct stat facts{};           ///< where it is there
  std::filesystem::path target;  ///< of its links, where it is a regular file or nothing yet

  bool is_regular() const { return !is_there || S_ISREG(facts.st_mode); }
};

/// An Error for a folder, and for what cannot be looked at.
Result<Destination> destination_of(const std::string& path) {
  Destination destination;
  destination.is_there = ::stat(path.c_str(), &destination.facts) == 0;
  if (!destination.is_there && errno != ENOENT) return io_error(path, "cannot be written", errno);
  if (destination.is_there && S_ISDIR(destination.facts.st_mode)) return io_error(path, "cannot be written", EISDIR);
  // Before any link is read: that of /dev/stdout to a pipe names no path.
  if (!destination.is_regular()) return destination;
  std::optional<std::filesystem::path> target = follow_links(path);
  if (!target) return io_error(path, "cannot be written", ELOOP);
  destination.target = *std::move(target);
  return destination;
}

Status write_regular(const std::string& path, const Destination& destination, std::string_view content) {
  const std::filesystem::path& target = destination.target;
  const struct stat* replaced = destination.is_there ? &destination.facts : nullptr;
  // A rename would replace a file that the user has protected from writing.
  if (replaced != nullptr && ::access(target.c_str(), W_OK) != 0) return io_error(path, "cannot be written", errno);
  const TemporaryFile temporary = create_beside(target);
  Descriptor file(temporary.descriptor);
  if (!file.is_open()) return io_error(path, "cannot be written", errno);
  if (const int code = fill_and_rename(file, temporary.path, target.string(), replaced, content)) {
    ::unlink(temporary.path.c_str());
    return io_error(path, "cannot be written", code);
  }
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  const Descriptor directory(open_file(folder.string(), O_RDONLY | O_DIRECTORY));
  // A folder that may be written but not read cannot be flushed; the file itself is complete.
  if (directory.is_open()) {
    if (const int code = flush(directory.number())) return io_error(path, "cannot be flushed to disk", code);
  }
  return {};
}

Status write_directly(const std::string& path, std::string_view content) {
  Descriptor file(open_file(path, O_WRONLY));
  if (!file.is_open()) return io_error(path, "cannot be written", errno);
  if (const int code = write_all(file.number(), content)) return io_error(path, "cannot be written", code);
  if (const int code = file.close()) return io_error(path, "cannot be written", code);
  return {};
}

Result<std::string> read_all(int descriptor, const std::string& shown_path) {
  struct stat facts{};
  std::string content;
  if (::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
    content.reserve(std::min(static_cast<std::size_t>(facts.st_size), largest_file) + 1);
  }
  std::string block(std::size_t{1} << 18, '\0');
  while (true) {
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(shown_path, "cannot be read", errno);
    if (content.size() + static_cast<std::size_t>(got) > largest_file) return io_error(shown_path, "cannot be read", EFBIG);
    content.append(block, 0, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::string display_path(const std::string& path) { return path == "-" ? "<stdin>" : path; }

Result<std::string> read_file(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, display_path(path));
  const Descriptor file(open_file(path, O_RDONLY));
  if (!file.is_open()) return io_error(path, "cannot be read", errno);
  return read_all(file.number(), path);
}

Status write_file(const std::string& path, std::string_view content) {
  if (path == "-") {
    if (const int code = write_all(STDOUT_FILENO, content)) return io_error("<stdout>", "cannot be written", code);
    return {};
  }
  DOVETAIL_TRY(const Destination destination, destination_of(path));
  if (!destination.is_regular()) return write_directly(path, content);
  return write_regular(path, destination, content);
}

Status check_writable(const std::string& path) {
  if (path == "-") return {};
  DOVETAIL_TRY(const Destination destination, destination_of(path));
  if (destination.is_there && ::access(path.c_str(), W_OK) != 0) return io_error(path, "cannot be written", errno);
  if (!destination.is_regular()) return {};
  const TemporaryFile temporary = create_beside(destination.target);
  const Descriptor file(temporary.descriptor);
  if (!file.is_open()) return io_error(path, "cannot be written", errno);
  ::unlink(temporary.path.c_str());
  return {};
}

}  // namespace dovetail::base
