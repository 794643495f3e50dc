#include "runtime/ranks/job_watch.h"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace dovetail::runtime {
namespace {

using base::Error;
using base::Result;
using namespace std::chrono_literals;

constexpr auto beat = 100ms;
/// What a store that is there does not need.
constexpr auto patience = 2s;
constexpr const char* left_key = "left";

}  // namespace

/// What the thread shares with the rank; it may outlive the rank's end of it.
struct JobWatch::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void(JobStore&)>> questions;
  bool ends = false;     ///< the rank wants no more
  bool ended = false;    ///< the thread asks no more
  bool leaving = false;  ///< a store that is gone has done its work
  RankNote note;
  bool is_noted = false;  ///< the store has the note
  std::optional<Error> error;

  std::mutex saying;  ///< held while an error is said
  std::optional<RankError> said;
  std::mutex hearing;  ///< held while `hear` runs
  std::function<void(const Error&)> hear;

  void take(const Error& first) {
    const std::lock_guard hears(hearing);
    {
      const std::lock_guard lock(mutex);
      if (error) return;
      error = first;
    }
    if (hear) std::exchange(hear, nullptr)(first);
  }

  /// What the thread gives for `ask(store)`; nothing where there is no store, or it does not answer.
  template <class Ask>
  auto answer_of(Ask ask) -> std::optional<decltype(ask(std::declval<JobStore&>()))> {
    using Answer = std::optional<decltype(ask(std::declval<JobStore&>()))>;
    const auto answer = std::make_shared<Answer>();
    std::unique_lock lock(mutex);
    questions.push_back([this, answer, ask](JobStore& store) {
      Answer given = ask(store);
      const std::lock_guard answers(mutex);
      *answer = std::move(given);
      changed.notify_all();
    });
    changed.notify_all();
    changed.wait_for(lock, patience, [&] { return answer->has_value() || ended; });
    return *answer;
  }

  /// One round of the thread. Whether there is a store to go on with.
  bool work(JobStore& store, int rank) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, beat, [this] { return ends || !is_noted || !questions.empty(); });
    while (!questions.empty()) {
      const auto question = std::move(questions.front());
      questions.pop_front();
      lock.unlock();
      question(store);
      lock.lock();
    }
    const RankNote noted = note;
    const bool is_new = !std::exchange(is_noted, true);
    lock.unlock();
    if (is_new) (void)store.set(note_key(rank), note_to_bytes(noted));
    const Result<std::int64_t> alive = store.add(alive_key(rank), 1);
    const Result<std::optional<std::string>> first = store.find(first_error_key);
    lock.lock();
    const bool is_lost = (!alive.ok() || !first.ok()) && !leaving;
    const bool goes_on = alive.ok() && first.ok() && !ends;
    lock.unlock();
    if (is_lost)
      take(without_store(rank, noted.phase, alive.ok() ? first.error() : alive.error()));
    else if (first.ok() && *first)
      take(error_from_bytes(**first).error);
    return goes_on;
  }
};

JobWatch::JobWatch(std::unique_ptr<JobStore> store, int rank, int ranks)
    : state_(std::make_shared<State>()), rank_(rank), ranks_(ranks) {
  std::thread([state = state_, store = std::move(store), rank]() mutable {
    while (state->work(*store, rank)) {
    }
    store.reset();
    const std::lock_guard lock(state->mutex);
    state->ended = true;
    state->changed.notify_all();
  }).detach();
}

JobWatch::~JobWatch() {
  on_error(nullptr);
  std::unique_lock lock(state_->mutex);
  state_->ends = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, patience, [this] { return state_->ended; });
}

void JobWatch::note(const RankNote& note) {
  const std::lock_guard lock(state_->mutex);
  if (note == state_->note) return;
  state_->note = note;
  state_->is_noted = false;
  state_->changed.notify_all();
}

std::function<std::string()> JobWatch::phase() const {
  return [state = state_] {
    const std::lock_guard lock(state->mutex);
    return state->note.phase;
  };
}

std::optional<Error> JobWatch::first_error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error;
}

void JobWatch::on_error(std::function<void(const Error&)> hear) {
  const std::lock_guard hears(state_->hearing);
  const std::optional<Error> error = first_error();
  if (hear && error)
    hear(*error);
  else
    state_->hear = std::move(hear);
}

Error JobWatch::placed(const Error& error) const {
  const std::lock_guard lock(state_->mutex);
  // What the watch has heard says whose phase it was.
  const bool is_heard = state_->error && state_->error->message == error.message;
  return is_heard ? error : in_phase(state_->note.phase, error);
}

RankError JobWatch::say(const Error& error) {
  const std::lock_guard says(state_->saying);
  if (state_->said) return *state_->said;
  const RankError own{rank_, placed(error)};
  const auto first = state_->answer_of(
      [bytes = error_to_bytes(own)](JobStore& store) { return store.propose(first_error_key, bytes); });
  return state_->said.emplace(first && first->ok() ? error_from_bytes(**first) : own);
}

std::vector<int> JobWatch::silent_ranks() {
  const auto count = [ranks = ranks_](JobStore& store) {
    std::vector<std::int64_t> signs;
    for (int rank = 0; rank < ranks; ++rank) {
      const Result<std::int64_t> sign = store.add(alive_key(rank), 0);
      signs.push_back(sign.ok() ? *sign : -1);
    }
    return signs;
  };
  const auto before = state_->answer_of(count);
  std::this_thread::sleep_for(5 * beat);
  const auto after = state_->answer_of(count);
  std::vector<int> silent;
  if (!before || !after) return silent;
  for (std::size_t rank = 0; rank < before->size(); ++rank)
    if ((*before)[rank] >= 0 && (*before)[rank] == (*after)[rank]) silent.push_back(static_cast<int>(rank));
  return silent;
}

void JobWatch::leave(std::chrono::milliseconds limit) { wait_for_all(limit, true); }
void JobWatch::outlast(std::chrono::milliseconds limit) { wait_for_all(limit, false); }

void JobWatch::wait_for_all(std::chrono::milliseconds limit, bool stops_at_error) {
  std::int64_t own = 0;
  {
    const std::lock_guard lock(state_->mutex);
    own = std::exchange(state_->leaving, true) ? 0 : 1;
  }
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    const auto left =
        state_->answer_of([own = std::exchange(own, 0)](JobStore& store) { return store.add(left_key, own); });
    if (!left || !left->ok() || **left >= ranks_) return;
    std::this_thread::sleep_for(10ms);
  } while (std::chrono::steady_clock::now() < end && !(stops_at_error && first_error()));
}

}  // namespace dovetail::runtime
