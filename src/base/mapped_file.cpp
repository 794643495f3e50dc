#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/open_file.h"

namespace dovetail::base {

Result<MappedFile> MappedFile::open(const std::string& path) {
  count_as_read(path);
  const Descriptor file(open_file(path, O_RDONLY));
  if (!file.is_open()) return io_error(path, "cannot be read", errno);
  struct stat facts{};
  if (::fstat(file.number(), &facts) != 0) return io_error(path, "cannot be read", errno);
  if (S_ISDIR(facts.st_mode)) return io_error(path, "cannot be read", EISDIR);
  if (!S_ISREG(facts.st_mode))
    return Error{Failure::io, path, 0, 0, "cannot be mapped into memory: this is no regular file"};
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

}  // namespace dovetail::base
