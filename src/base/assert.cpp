#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace dovetail::base {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "dovetail: internal error: %s is false at %s:%d. This is a bug of dovetail, not of its input.\n",
               condition, file, line);
  std::abort();
}

}  // namespace dovetail::base
