// A job's store that never holds up whoever asks it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/ranks/job_store.h"

namespace dovetail::runtime {

/// Asks a store by threads of its own. The server of libtorch 1.13 waits for the end of what a client has begun to say:
/// where that one is stopped, the store hears nobody else.
class PatientStore {
 public:
  explicit PatientStore(std::unique_ptr<JobStore> store) : store_(std::move(store)) {}

  std::uint16_t port() const { return store_->port(); }

  /// What `ask(store)` gives; nothing where that takes longer than two seconds, and at once where an earlier question
  /// still has no answer. A thread that the store holds up is left to itself.
  template <class Ask>
  auto answer_of(Ask ask) -> std::optional<decltype(ask(std::declval<JobStore&>()))> {
    using Answer = decltype(ask(std::declval<JobStore&>()));
    if (asks_->exchange(true)) return std::nullopt;
    std::packaged_task<Answer()> question([store = store_, asks = asks_, ask = std::move(ask)]() mutable {
      Answer given = ask(*store);
      // Whoever waits for the answer lets the store go, not this thread.
      store.reset();
      *asks = false;
      return given;
    });
    std::future<Answer> answer = question.get_future();
    try {
      std::thread(std::move(question)).detach();
    } catch (const std::system_error&) {
      *asks_ = false;
      return std::nullopt;
    }
    if (answer.wait_for(std::chrono::seconds(2)) != std::future_status::ready) return std::nullopt;
    return answer.get();
  }

 private:
  std::shared_ptr<JobStore> store_;
  std::shared_ptr<std::atomic<bool>> asks_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace dovetail::runtime
