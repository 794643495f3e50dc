#include "base/open_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace dovetail::base {

Error io_error(const std::string& path, std::string_view what, int code) {
  return Error{.failure = Failure::io,
               .path = path,
               .line = 0,
               .column = 0,
               .message = fmt::format("{}: {}", what, std::generic_category().message(code))};
}

int Descriptor::close() {
  if (number_ < 0) return 0;
  const int closed = ::close(std::exchange(number_, -1));
  return closed == 0 || errno == EINTR ? 0 : errno;
}

int open_file(const std::string& path, int flags, mode_t mode) {
  int number = -1;
  do {
    number = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (number < 0 && errno == EINTR);
  return number;
}

int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int flush(int descriptor) {
  if (::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP) return 0;
  return errno;
}

}  // namespace dovetail::base
