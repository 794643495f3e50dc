#include "execute/pace.h"

#include <algorithm>
#include <thread>

namespace dovetail::execute {

Moment Pace::run(Clock::duration length) {
  const Clock::time_point now = Clock::now();
  const Clock::time_point met{Clock::duration(met_)};
  ready(met, met);
  due_ += now - there_ + length;
  sleep_until_due();
  return {due_, there_ - due_};
}

void Pace::arrive(const Moment& made, Clock::duration transfer) {
  const Clock::time_point usable = made.due + transfer;
  if (Clock::now() >= usable) return ready(usable, std::max(usable, made.due + made.late));
  due_ = usable;
  sleep_until_due();
}

void Pace::ready(Clock::time_point due, Clock::time_point there) {
  due_ = std::max(due_, due);
  there_ = std::max(there_, there);
}

void Pace::sleep_until_due() {
  std::this_thread::sleep_until(due_);
  there_ = Clock::now();
}

}  // namespace dovetail::execute
