#include "runtime/run/heap.h"

#include <malloc.h>

namespace dovetail::runtime {

void keep_freed_memory() {
#ifdef __GLIBC__
  // The largest that it takes: larger ones stay apart, and go back at once.
  constexpr int max_in_heap = 32 << 20;
  constexpr int max_kept = 512 << 20;
  mallopt(M_MMAP_THRESHOLD, max_in_heap);
  mallopt(M_TRIM_THRESHOLD, max_kept);
#endif
}

}  // namespace dovetail::runtime
