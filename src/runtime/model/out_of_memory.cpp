#include "runtime/model/out_of_memory.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

namespace dovetail::runtime {
namespace {

/// Whether libtorch says that it could not allocate; it has a type of its own for that on a GPU only.
bool is_out_of_memory(const c10::Error& error) {
  const std::string_view said = error.what_without_backtrace();
  return said.find("out of memory") != std::string_view::npos ||
         said.find("allocate memory") != std::string_view::npos ||
         said.find("not enough memory") != std::string_view::npos;
}

}  // namespace

base::Status unless_out_of_memory(const std::function<base::Status()>& work, const std::function<base::Error()>& told) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return told();
  } catch (const c10::Error& error) {
    if (!is_out_of_memory(error)) throw;
    return told();
  }
}

}  // namespace dovetail::runtime
