// Ctrl-C: a request to stop with the best answer so far.
#pragma once

#include "parallel/cancellation.h"

namespace dovetail::cli {

/// From now on the first SIGINT or SIGTERM requests the cancellation that this returns; a second one ends the program
/// at once.
const parallel::Cancellation& stop_on_interrupt();

/// Holds SIGINT and SIGTERM back until the program that this one becomes calls stop_on_interrupt(): none is lost on the
/// way.
void hold_interrupts();

}  // namespace dovetail::cli
