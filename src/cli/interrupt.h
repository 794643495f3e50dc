// Ctrl-C as a request to stop with the best answer so far.
#pragma once

#include "parallel/cancellation.h"

namespace dovetail::cli {

/// Installs signal handlers and returns the cancellation that the first SIGINT or SIGTERM requests. A second signal
/// ends the program at once.
const parallel::Cancellation& stop_on_interrupt();

/// As stop_on_interrupt(), for programs whose kernels leave no valid stack for a signal handler. oneDNN kernels use the
/// stack pointer as a general register, so a handler on their thread would write into the heap. A separate thread waits
/// for the signals, and all other threads block them. Call it before other threads exist.
const parallel::Cancellation& stop_on_interrupt_apart();

/// Blocks SIGINT and SIGTERM until the program that replaces this one calls stop_on_interrupt(). No signal is lost
/// before that.
void hold_interrupts();

}  // namespace dovetail::cli
