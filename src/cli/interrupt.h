// Ctrl-C: a request to stop with the best answer so far.
#pragma once

#include "parallel/cancellation.h"

namespace dovetail::cli {

/// From now on the first SIGINT or SIGTERM requests the cancellation that this returns; a second one ends the program
/// at once.
const parallel::Cancellation& stop_on_interrupt();

/// The same for a program whose kernels leave no stack to a handler: those of oneDNN compute with the stack pointer as
/// with any register, and a handler on their thread would write into the heap. Here a thread of its own waits for the
/// signals, which this one and all that it starts hold back. Call it before there are other threads.
const parallel::Cancellation& stop_on_interrupt_apart();

/// Holds SIGINT and SIGTERM back until the program that this one becomes calls stop_on_interrupt(): none is lost on the
/// way.
void hold_interrupts();

}  // namespace dovetail::cli
