#include "base/file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "base/open_file.h"

namespace dovetail::base {
namespace {

/// The paths of all files that were read. Thread-safe.
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

/// Returns the size of a regular file; 0 for a pipe or if it is unknown.
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

Result<MappedFile> MappedFile::open(const std::string& path) {
  count_as_read(path);
  const Descriptor file(open_file(path, O_RDONLY));
  if (!file.is_open()) return io_error(path, "cannot be read", errno);
  struct stat facts{};
  if (::fstat(file.number(), &facts) != 0) return io_error(path, "cannot be read", errno);
  if (S_ISDIR(facts.st_mode)) return io_error(path, "cannot be read", EISDIR);
  if (!S_ISREG(facts.st_mode))
    return Error{Failure::io, path, 0, 0, "cannot be mapped into memory: not a regular file"};
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) return MappedFile(std::span<const std::byte>());
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED) return io_error(path, "cannot be read", errno);
  return MappedFile(std::span(static_cast<const std::byte*>(address), size));
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

struct KindFacts {
  std::string_view name;
  std::size_t max_size;
};

/// [kind]
constexpr std::array<KindFacts, 4> kinds{
    {{"JSON", 192 * mebibyte}, {"YAML", 64 * mebibyte}, {"CSV", 32 * mebibyte}, {"line-based text", 64 * mebibyte}}};

const KindFacts& facts_of(InputKind kind) { return kinds.at(static_cast<std::size_t>(kind)); }

Status check(std::size_t bytes, std::size_t max_size, std::string_view what, const std::string& path) {
  if (bytes <= max_size) return {};
  return Error{.failure = Failure::bad_input,
               .path = path,
               .message = fmt::format("the file is too large ({} bytes); accepted: at most {} MiB ({} bytes) of {}",
                                      bytes, max_size / mebibyte, max_size, what)};
}

}  // namespace

std::size_t max_input(InputKind kind) { return facts_of(kind).max_size; }

std::size_t max_input() { return max_input(InputKind::json); }

Status check_input_size(InputKind kind, std::size_t bytes, const std::string& path) {
  return check(bytes, facts_of(kind).max_size, facts_of(kind).name, path);
}

Status check_input_size(std::size_t bytes, const std::string& path) {
  return check(bytes, max_input(), "any input", path);
}

}  // namespace dovetail::base
