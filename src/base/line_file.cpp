#include "base/line_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/open_file.h"

namespace dovetail::base {
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
  // What is there of it is no whole line.
  const bool is_cut = end >= 0 && ::ftruncate(file_->number(), end) == 0;
  return io_error(path_, is_cut ? "cannot be written" : "cannot be written, and ends within a line", failed);
}

Status LineFile::flush() {
  if (const int failed = base::flush(file_->number())) return io_error(path_, "cannot be flushed to disk", failed);
  return {};
}

}  // namespace dovetail::base
