#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/open_file.h"

namespace dovetail::base {

namespace {

/// Resolves the symbolic links of `path`, even if the last one points to a missing file. nullopt if there are too many.
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

/// A new file in the directory of `target` with a unique name. Its mode follows the umask.
struct TemporaryFile {
  std::string path;
  int descriptor = -1;
};
constexpr std::string_view temporary_begin = ".dovetail-";
constexpr std::string_view temporary_end = ".tmp";

TemporaryFile create_next_to(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter = 0;
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  TemporaryFile file;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    file.path =
        (folder / fmt::format("{}{}-{}{}", temporary_begin, ::getpid(), counter.fetch_add(1), temporary_end)).string();
    file.descriptor = open_file(file.path, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file.descriptor >= 0 || errno != EEXIST) break;
  }
  return file;
}

/// Returns the process that created a temporary file of that name, or nullopt for any other name.
std::optional<pid_t> writer_of(std::string_view name) {
  if (!name.starts_with(temporary_begin) || !name.ends_with(temporary_end)) return std::nullopt;
  name.remove_prefix(temporary_begin.size());
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  if (error != std::errc() || *end != '-' || process <= 0) return std::nullopt;
  return process;
}

/// Copies the mode and, if permitted, the owner of the replaced file. Returns 0 or errno.
int take_over_permissions(int descriptor, const struct stat& replaced) {
  struct stat created{};
  if (::fstat(descriptor, &created) != 0) return errno;
  if (created.st_uid != replaced.st_uid || created.st_gid != replaced.st_gid) {
    // Only a privileged user may change the owner. For others the new file is their own, as with any editor.
    if (::fchown(descriptor, replaced.st_uid, replaced.st_gid) != 0) errno = 0;
  }
  return ::fchmod(descriptor, replaced.st_mode & 07777) == 0 ? 0 : errno;
}

using Contents = std::span<const std::string_view>;

int write_parts(int descriptor, Contents parts) {
  for (const std::string_view part : parts)
    if (const int code = write_all(descriptor, part)) return code;
  return 0;
}

/// Fills the temporary file. Returns 0 or errno.
int fill(Descriptor& file, const struct stat* replaced, Contents content) {
  if (replaced != nullptr) {
    if (const int code = take_over_permissions(file.number(), *replaced)) return code;
  }
  if (const int code = write_parts(file.number(), content)) return code;
  if (const int code = flush(file.number())) return code;
  return file.close();
}

/// The current state of the place where a file is to be written.
struct Destination {
  bool is_there = false;
  struct stat facts{};           ///< valid if is_there
  std::filesystem::path target;  ///< path after symbolic links, for a regular or missing file

  bool is_regular() const { return !is_there || S_ISREG(facts.st_mode); }
};

/// Fails for a directory and for a path that cannot be inspected.
Result<Destination> destination_of(const std::string& path) {
  Destination destination;
  destination.is_there = ::stat(path.c_str(), &destination.facts) == 0;
  if (!destination.is_there && errno != ENOENT) return io_error(path, "cannot be written", errno);
  if (destination.is_there && S_ISDIR(destination.facts.st_mode)) return io_error(path, "cannot be written", EISDIR);
  // Check this before resolving links: if /dev/stdout is a pipe, its link is not a path.
  if (!destination.is_regular()) return destination;
  std::optional<std::filesystem::path> target = follow_links(path);
  if (!target) return io_error(path, "cannot be written", ELOOP);
  destination.target = *std::move(target);
  return destination;
}

/// A file whose new content is complete under a temporary name in the target directory.
struct PendingFile {
  std::string path;  ///< as given by the user
  std::string target;
  std::string temporary;
  std::string old = {};  ///< temporary name of the replaced file, until the whole set is in place, or empty
  bool replaces = false;
  bool in_place = false;
};

std::string folder_of(const std::string& target) {
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  return folder.empty() ? "." : folder.string();
}

Result<PendingFile> prepare(const std::string& path, const Destination& destination, Contents content) {
  const std::string target = destination.target.string();
  const struct stat* replaced = destination.is_there ? &destination.facts : nullptr;
  // A rename would replace even a write-protected file.
  if (replaced != nullptr && ::access(target.c_str(), W_OK) != 0) return io_error(path, "cannot be written", errno);
  const TemporaryFile temporary = create_next_to(target);
  Descriptor file(temporary.descriptor);
  if (!file.is_open()) return io_error(path, "cannot be written", errno);
  if (const int code = fill(file, replaced, content)) {
    ::unlink(temporary.path.c_str());
    return io_error(path, "cannot be written", code);
  }
  return PendingFile{.path = path, .target = target, .temporary = temporary.path, .replaces = replaced != nullptr};
}

/// Gives the file to be replaced a second name in its directory. Returns 0 or errno.
int keep_old(PendingFile& file) {
  const TemporaryFile name = create_next_to(file.target);
  const Descriptor created(name.descriptor);
  if (!created.is_open()) return errno;
  ::unlink(name.path.c_str());
  // On file systems without hard links the file is missing under its own name for a moment.
  if (::link(file.target.c_str(), name.path.c_str()) != 0 && ::rename(file.target.c_str(), name.path.c_str()) != 0)
    return errno;
  file.old = name.path;
  return 0;
}

/// Moves the new file into place and keeps the old one if `undoable`. Returns 0 or errno.
int put_in_place(PendingFile& file, bool undoable) {
  if (undoable && file.replaces) {
    if (const int code = keep_old(file)) return code;
  }
  if (::rename(file.temporary.c_str(), file.target.c_str()) != 0) return errno;
  file.in_place = true;
  return 0;
}

/// Restores the old files and removes the temporary ones.
void undo(const std::vector<PendingFile>& files) {
  for (const PendingFile& file : files) {
    if (!file.in_place) ::unlink(file.temporary.c_str());
    if (file.in_place && file.old.empty()) ::unlink(file.target.c_str());
    if (!file.old.empty()) ::rename(file.old.c_str(), file.target.c_str());
    // rename() does nothing if both names are links to one file, so remove the second name.
    if (!file.old.empty()) ::unlink(file.old.c_str());
  }
}

/// Blocks the signals that end a program during its lifetime. They are delivered afterwards.
class SignalPause {
 public:
  SignalPause() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&held, signal);
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  SignalPause(const SignalPause&) = delete;
  SignalPause& operator=(const SignalPause&) = delete;
  ~SignalPause() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// Moves all files into place, or none if there is an Error.
Status put_all_in_place(std::vector<PendingFile>& files) {
  const SignalPause pause;
  const bool undoable = files.size() > 1;
  for (PendingFile& file : files) {
    if (const int code = put_in_place(file, undoable)) {
      undo(files);
      return io_error(file.path, "cannot be written", code);
    }
  }
  for (const PendingFile& file : files)
    if (!file.old.empty()) ::unlink(file.old.c_str());
  return {};
}

/// Flushes the directory entries of the files. The files themselves are complete even if this fails.
Status flush_folders(const std::vector<PendingFile>& files) {
  std::set<std::string> flushed;
  for (const PendingFile& file : files) {
    if (!flushed.insert(folder_of(file.target)).second) continue;
    const Descriptor folder(open_file(folder_of(file.target), O_RDONLY | O_DIRECTORY));
    // A directory that is writable but not readable cannot be flushed. The file itself is complete.
    if (!folder.is_open()) continue;
    if (const int code = flush(folder.number())) return io_error(file.path, "cannot be flushed to disk", code);
  }
  return {};
}

Status write_directly(const std::string& path, Contents content) {
  Descriptor file(open_file(path, O_WRONLY));
  if (!file.is_open()) return io_error(path, "cannot be written", errno);
  if (const int code = write_parts(file.number(), content)) return io_error(path, "cannot be written", code);
  if (const int code = file.close()) return io_error(path, "cannot be written", code);
  return {};
}

/// Writes the new content under a temporary name. A special file is written directly.
Status write_or_prepare(const std::string& path, Contents content, std::vector<PendingFile>& pending) {
  if (path == "-") {
    const int code = write_parts(STDOUT_FILENO, content);
    return code == 0 ? Status() : io_error("<stdout>", "cannot be written", code);
  }
  DOVETAIL_TRY(const Destination destination, destination_of(path));
  if (!destination.is_regular()) return write_directly(path, content);
  for (const PendingFile& other : pending)
    if (other.target == destination.target)
      return bad_input(
          fmt::format("the outputs '{}' and '{}' are the same file, '{}'; accepted: a different file for each",
                      other.path, path, destination.target.string()));
  DOVETAIL_TRY(PendingFile prepared, prepare(path, destination, content));
  pending.push_back(std::move(prepared));
  return {};
}

}  // namespace

Status write_file(const std::string& path, std::string_view content) {
  return write_file(path, std::span(&content, 1));
}

Status write_file(const std::string& path, std::span<const std::string_view> parts) {
  std::vector<PendingFile> pending;
  DOVETAIL_CHECK(write_or_prepare(path, parts, pending));
  DOVETAIL_CHECK(put_all_in_place(pending));
  return flush_folders(pending);
}

Status write_files(std::span<const FileContent> files) {
  std::vector<PendingFile> pending;
  for (const FileContent& file : files) {
    Status written = write_or_prepare(file.path, std::span(&file.content, 1), pending);
    if (written.ok()) continue;
    undo(pending);
    return written;
  }
  DOVETAIL_CHECK(put_all_in_place(pending));
  return flush_folders(pending);
}

Status check_writable(const std::string& path) {
  if (path == "-") return {};
  DOVETAIL_TRY(const Destination destination, destination_of(path));
  if (destination.is_there && ::access(path.c_str(), W_OK) != 0) return io_error(path, "cannot be written", errno);
  if (!destination.is_regular()) return {};
  const TemporaryFile temporary = create_next_to(destination.target);
  const Descriptor file(temporary.descriptor);
  if (!file.is_open()) return io_error(path, "cannot be written", errno);
  ::unlink(temporary.path.c_str());
  return {};
}

void remove_abandoned_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    const std::optional<pid_t> writer = writer_of(entries->path().filename().string());
    if (writer && ::kill(*writer, 0) != 0 && errno == ESRCH) ::unlink(entries->path().c_str());
  }
}

}  // namespace dovetail::base
