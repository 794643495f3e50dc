#include "base/growing_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/open_file.h"

namespace dovetail::base {
namespace {

constexpr std::size_t max_remembered = 64;

ssize_t read_at(int file, char* to, std::size_t size, std::int64_t offset) {
  ssize_t got = 0;
  do got = ::pread(file, to, size, offset);
  while (got < 0 && errno == EINTR);
  return got;
}

}  // namespace

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)) {}
GrowingFile::GrowingFile(GrowingFile&&) noexcept = default;
GrowingFile& GrowingFile::operator=(GrowingFile&&) noexcept = default;
GrowingFile::~GrowingFile() = default;

Status GrowingFile::read_rest(std::string& bytes) {
  std::array<char, 1 << 16> part{};
  for (;;) {
    const ssize_t got = read_at(file_->number(), part.data(), part.size(), offset_);
    if (got < 0) return io_error(path_, "cannot be read", errno);
    if (got == 0) return {};
    const std::string_view read(part.data(), static_cast<std::size_t>(got));
    bytes += read;
    offset_ += got;
    last_ += read;
    if (last_.size() > max_remembered) last_.erase(0, last_.size() - max_remembered);
  }
}

void GrowingFile::restart(std::string& bytes) {
  if (!last_.empty() && !last_.ends_with('\n')) bytes += '\n';
  offset_ = 0;
  last_.clear();
}

bool GrowingFile::is_unchanged() const {
  std::string there(last_.size(), '\0');
  const std::int64_t from = offset_ - static_cast<std::int64_t>(last_.size());
  const ssize_t got = read_at(file_->number(), there.data(), there.size(), from);
  return got == static_cast<ssize_t>(last_.size()) && there == last_;
}

Result<GrowingFile::NewContent> GrowingFile::read_new() {
  NewContent added;
  if (file_) {
    if (!is_unchanged()) {
      added.restarted = true;
      restart(added.bytes);
    }
    DOVETAIL_CHECK(read_rest(added.bytes));
  }
  struct stat now{};
  if (::stat(path_.c_str(), &now) != 0) {
    // During a log rotation the file may be missing for a moment.
    if (errno == ENOENT) return added;
    return io_error(path_, "cannot be read", errno);
  }
  const auto node = static_cast<std::uint64_t>(now.st_ino);
  const auto device = static_cast<std::uint64_t>(now.st_dev);
  if (file_ && node == node_ && device == device_) return added;
  auto opened = std::make_unique<Descriptor>(open_file(path_, O_RDONLY));
  if (!opened->is_open()) return io_error(path_, "cannot be read", errno);
  struct stat of_opened{};
  if (::fstat(opened->number(), &of_opened) != 0) return io_error(path_, "cannot be read", errno);
  if (S_ISDIR(of_opened.st_mode)) return io_error(path_, "cannot be read", EISDIR);
  added.restarted = added.restarted || file_ != nullptr;
  file_ = std::move(opened);
  node_ = static_cast<std::uint64_t>(of_opened.st_ino);
  device_ = static_cast<std::uint64_t>(of_opened.st_dev);
  restart(added.bytes);
  DOVETAIL_CHECK(read_rest(added.bytes));
  return added;
}

namespace {

constexpr mode_t readable_by_all = 0644;

}  // namespace

LineFile::LineFile(std::string path) : path_(std::move(path)) {}
LineFile::LineFile(LineFile&&) noexcept = default;
LineFile& LineFile::operator=(LineFile&&) noexcept = default;
LineFile::~LineFile() = default;

Result<LineFile> LineFile::open(const std::string& path) {
  LineFile file(path);
  file.file_ = std::make_unique<Descriptor>(open_file(path, O_WRONLY | O_CREAT | O_APPEND, readable_by_all));
  if (!file.file_->is_open()) return io_error(path, "cannot be opened", errno);
  return file;
}

Status LineFile::append(std::string_view bytes) {
  const off_t end = ::lseek(file_->number(), 0, SEEK_END);
  const int failed = write_all(file_->number(), bytes);
  if (failed == 0) return {};
  // The file ends in a partial line now.
  const bool is_cut = end >= 0 && ::ftruncate(file_->number(), end) == 0;
  return io_error(path_, is_cut ? "cannot be written" : "cannot be written, and now ends in a partial line", failed);
}

Status LineFile::flush() {
  if (const int failed = base::flush(file_->number())) return io_error(path_, "cannot be flushed to disk", failed);
  return {};
}

}  // namespace dovetail::base
