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

/// Exits with 0 if the first signal becomes a request without a handler on a computing thread, with 1 to 3 if not, and
/// by the signal itself on the second one.
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

// Each test runs in a new process, because signal handling is global.
class InterruptApart : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(InterruptApart, FirstSignalIsARequestOnComputingThreads) {
  EXPECT_EXIT(interrupt_twice(SIGTERM, 0), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(interrupt_twice(SIGINT, 0), testing::ExitedWithCode(0), "");
}

TEST_F(InterruptApart, SecondSignalEndsTheProgram) {
  EXPECT_EXIT(interrupt_twice(SIGTERM, SIGTERM), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(interrupt_twice(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace dovetail::cli
