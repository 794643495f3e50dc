#include "cli/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace dovetail::cli {
namespace {

bool holds_interrupts() {
  sigset_t held;
  pthread_sigmask(SIG_BLOCK, nullptr, &held);
  return sigismember(&held, SIGINT) == 1 && sigismember(&held, SIGTERM) == 1;
}

/// Ends this process with 0 where the first signal is a request that no handler has taken on a computing thread, with 1
/// to 3 where it is not, and with the signal at the second.
[[noreturn]] void interrupt_twice(int first, int second) {
  const parallel::Cancellation& cancellation = stop_on_interrupt_apart();
  bool started_holds = false;
  std::thread([&] { started_holds = holds_interrupts(); }).join();
  if (!holds_interrupts() || !started_holds) std::exit(1);
  const auto wait_until_requested = [&] {
    for (int tries = 0; tries < 1000 && !cancellation.requested(); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  if (cancellation.requested()) std::exit(2);
  kill(getpid(), first);
  wait_until_requested();
  if (!cancellation.requested()) std::exit(3);
  if (second == 0) std::exit(0);
  kill(getpid(), second);
  std::this_thread::sleep_for(std::chrono::seconds(10));
  std::exit(4);
}

// Each in a process of its own, made anew: what a signal does is the whole program's.
class InterruptApart : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(InterruptApart, TheFirstIsARequestWithoutAHandlerOnThreadsThatCompute) {
  EXPECT_EXIT(interrupt_twice(SIGTERM, 0), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(interrupt_twice(SIGINT, 0), testing::ExitedWithCode(0), "");
}

TEST_F(InterruptApart, TheSecondEndsTheProgram) {
  EXPECT_EXIT(interrupt_twice(SIGTERM, SIGTERM), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(interrupt_twice(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace dovetail::cli
