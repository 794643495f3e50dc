// File descriptors, and Errors of system calls.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::base {

/// Returns a Failure::io Error about `path`. The message is `what` ("cannot be read"), followed by the system's
/// description of `code`, an errno value.
Error io_error(const std::string& path, std::string_view what, int code);

/// A file descriptor, closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Closes the descriptor. Returns 0 or errno. EINTR is not an error, because the descriptor is closed anyway.
  int close();

 private:
  int number_;
};

/// Calls open() with O_CLOEXEC and retries on EINTR. Returns a negative number and sets errno on failure.
int open_file(const std::string& path, int flags, mode_t mode = 0);

/// Writes all of `content`. Returns 0 or errno.
int write_all(int descriptor, std::string_view content);

/// Flushes the file to disk. Returns 0 or errno. Returns 0 if the file system does not support fsync.
int flush(int descriptor);

}  // namespace dovetail::base
