// Work in which memory may run out, whichever library asks for it.
#pragma once

#include <functional>

#include "base/result.h"

namespace dovetail::runtime {

/// What `work` returns; `told` where memory runs out in it.
base::Status unless_out_of_memory(const std::function<base::Status()>& work, const std::function<base::Error()>& told);

}  // namespace dovetail::runtime
