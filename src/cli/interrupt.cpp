#include "cli/interrupt.h"

#include <csignal>

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

}  // namespace

const parallel::Cancellation& stop_on_interrupt() {
  // Again it would bring the handler back behind a first signal, and a second one would not end the program.
  static bool installed = false;
  if (installed) return cancellation;
  installed = true;
  struct sigaction action{};
  action.sa_handler = request_stop;
  sigemptyset(&action.sa_mask);
  // The handler is gone after the first signal, so that a second one ends a program that does not stop.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // The program that started this one may have held them back.
  const sigset_t held = interrupts();
  sigprocmask(SIG_UNBLOCK, &held, nullptr);
  return cancellation;
}

void hold_interrupts() {
  const sigset_t held = interrupts();
  sigprocmask(SIG_BLOCK, &held, nullptr);
}

}  // namespace dovetail::cli
