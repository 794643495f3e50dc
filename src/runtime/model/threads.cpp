#include "runtime/model/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace dovetail::runtime {

void use_threads(int count) {
  at::set_num_threads(count);
  // It has threads of its own, as many as processors, of which ATen knows nothing.
  using SetThreads = void (*)(int);
  if (void* const symbol = ::dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<SetThreads>(symbol)(count);
}

}  // namespace dovetail::runtime
