// The end of a rank that libtorch ends because the store of its job is gone.
#pragma once

#include <functional>
#include <string>

namespace dovetail::runtime {

/// libtorch 1.13 ends the program where it cannot write to a store: it throws out of a destructor. From now on this
/// process then says that it ends, as rank `rank` in phase(), and ends with exit code 4.
void say_lost_store(int rank, std::function<std::string()> phase);

}  // namespace dovetail::runtime
