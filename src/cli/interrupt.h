// Ctrl-C as a request to stop with the best answer so far.
#pragma once

#include "parallel/cancellation.h"

namespace dovetail::cli {

/// Installs signal handlers and returns the cancellation that the first SIGINT or SIGTERM requests. A second signal of
/// the same kind ends the program immediately.
const parallel::Cancellation& stop_on_interrupt();

/// Like stop_on_interrupt(), but a separate thread waits for the signals, and all other threads block them. A second
/// signal of either kind ends the program. For programs with oneDNN kernels: these use the stack pointer as a general
/// register, so a signal handler on the same thread would write into the heap. Call this before other threads exist.
const parallel::Cancellation& stop_on_interrupt_apart();

/// Blocks SIGINT and SIGTERM before this program is replaced by another one (exec). Signals that arrive meanwhile stay
/// pending until the other program calls one of the functions above.
void hold_interrupts();

}  // namespace dovetail::cli
