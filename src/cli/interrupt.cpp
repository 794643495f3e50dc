#include "cli/interrupt.h"

#include <csignal>
#include <thread>

namespace dovetail::cli {
namespace {

parallel::Cancellation cancellation;

extern "C" void request_stop(int /*signal*/) { cancellation.request(); }

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

/// Returns false if the handler was installed before. If it were reinstalled after a first signal, a second signal
/// would not end the program.
bool install_handler() {
  static bool installed = false;
  if (installed) return false;
  installed = true;
  struct sigaction action{};
  action.sa_handler = request_stop;
  sigemptyset(&action.sa_mask);
  // The first signal removes the handler, so that a second signal ends a program that does not stop.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return true;
}

/// Waits for the signals that all threads block. A second signal takes its default action.
void take_interrupts() {
  const sigset_t held = interrupts();
  int signal = 0;
  sigwait(&held, &signal);
  if (!cancellation.requested()) {
    cancellation.request();
    sigwait(&held, &signal);
  }
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &held, nullptr);
  std::raise(signal);
}

}  // namespace

const parallel::Cancellation& stop_on_interrupt() {
  if (!install_handler()) return cancellation;
  // The parent process may have blocked them.
  const sigset_t held = interrupts();
  sigprocmask(SIG_UNBLOCK, &held, nullptr);
  return cancellation;
}

const parallel::Cancellation& stop_on_interrupt_apart() {
  hold_interrupts();
  // The handler is for threads that libraries started earlier, which do not block the signals.
  if (install_handler()) std::thread(take_interrupts).detach();
  return cancellation;
}

void hold_interrupts() {
  const sigset_t held = interrupts();
  sigprocmask(SIG_BLOCK, &held, nullptr);
}

}  // namespace dovetail::cli
