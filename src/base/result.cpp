#include "base/result.h"

#include <cstdio>
#include <cstdlib>

#include "base/assert.h"
#include "base/utf8.h"

namespace dovetail::base {

std::string to_text(const Error& error) {
  std::string text = visible(error.path);
  if (error.line > 0) {
    if (!text.empty()) text += ':';
    text += std::to_string(error.line);
    if (error.column > 0) text += ':' + std::to_string(error.column);
  }
  if (!text.empty()) text += ": ";
  return text + error.message;
}

Error bad_input(std::string message) {
  return Error{.failure = Failure::bad_input, .path = {}, .line = 0, .column = 0, .message = std::move(message)};
}

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(
      stderr,
      "dovetail: internal error: assertion `%s` failed at %s:%d. This is a bug in dovetail, not in its input.\n",
      condition, file, line);
  std::abort();
}

}  // namespace dovetail::base
