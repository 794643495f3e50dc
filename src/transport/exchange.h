// What ranks tell each other beside programs and reductions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace dovetail::transport {

/// Gives each rank what all ranks say, [rank]. `number`: as control_address.
base::Result<std::vector<std::string>> exchange(Transport& transport, std::uint32_t number, std::string own,
                                                Deadline deadline);

}  // namespace dovetail::transport
