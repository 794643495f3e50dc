#include "cost/cache_occupancy.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

namespace dovetail::cost {
namespace {

constexpr double half_a_block = static_cast<double>(cache_block) / 2;  // of a sequence's last one, which is empty
constexpr double too_few = 1e-6;                                       // sequences, of one that is there

/// Sequences that have generated equally many tokens.
struct Cohort {
  std::size_t age = 0;  // nodes of the grid
  double count = 0;
};

/// What had been made at a time.
struct Mark {
  std::size_t part = 0;
  double recomputed = 0;
  double came_back = 0;
  double ended = 0;
};

class Cache {
 public:
  Cache(const workflow::LengthDistribution& lengths, const CacheWork& work)
      : work_(work), mean_(lengths.mean()), fresh_(work.sequences) {
    const std::vector<double> probabilities = lengths_on_grid(lengths);
    step_ = static_cast<double>(lengths.longest()) / static_cast<double>(probabilities.size() - 1);
    double reached = 1;
    for (std::size_t age = 0; age < probabilities.size(); ++age) {
      ending_.push_back(reached > too_few ? std::min(1.0, probabilities[age] / reached) : 1);
      reached -= probabilities[age];
      // A prompt is held as long as any of those that share it runs.
      const double left = std::clamp(reached, too_few, 1.0);
      const double own_prompt =
          (work.prompt + half_a_block) * (1 - std::pow(1 - left, work.group)) / (work.group * left);
      held_.push_back(own_prompt + static_cast<double>(age) * step_ + half_a_block);
    }
    ending_.back() = 1;
  }

  Occupancy play() {
    while (true) {
      enter();
      if (running_.empty()) return finish();
      if (made_.parts.empty()) made_.at_start = work_.sequences - fresh_;
      grow();
      if (waits()) made_.tail = made_.parts.size();
      repeat_waves();
    }
  }

 private:
  /// As many sequences come back in one step as there is room for once one has ended.
  Occupancy finish() {
    made_.recomputed = so_far_.recomputed;
    made_.recomputing_steps = std::min(so_far_.came_back, so_far_.ended);
    return std::move(made_);
  }

  bool waits() const { return fresh_ > too_few || !again_.empty(); }

  double running_count() const {
    return std::accumulate(running_.begin(), running_.end(), 0.0,
                           [](double sum, const Cohort& cohort) { return sum + cohort.count; });
  }
  double running_tokens() const {
    return std::accumulate(running_.begin(), running_.end(), 0.0,
                           [this](double sum, const Cohort& cohort) { return sum + cohort.count * held_[cohort.age]; });
  }

  /// Those that wait, as far as there are places and room.
  void enter() {
    double places = std::max(0.0, work_.places - running_count());
    double room = std::max(0.0, work_.room - running_tokens());
    while (waits() && places > too_few) {
      const Cohort next = again_.empty() ? Cohort{0, fresh_} : again_.front();
      // One token more than it holds.
      double count = std::min({next.count, places, room / (held_[next.age] + 1)});
      if (running_.empty()) count = std::max(count, std::min(1.0, next.count));
      made_.is_short_of_room = made_.is_short_of_room || count < std::min(next.count, places);
      if (count < too_few) return;
      take(next, count);
      places -= count;
      room -= count * held_[next.age];
    }
  }

  /// Lets so many of those that are next in.
  void take(const Cohort& next, double count) {
    if (again_.empty()) {
      fresh_ -= count;
      add_running({0, count * (1 - ending_[0])});
      return;
    }
    so_far_.recomputed += count * held_[next.age];
    so_far_.came_back += count;
    add_running({next.age, count});
    again_.front().count -= count;
    if (again_.front().count < too_few) again_.pop_front();
  }

  void add_running(const Cohort& cohort) {
    if (!running_.empty() && running_.back().age == cohort.age)
      running_.back().count += cohort.count;
    else
      running_.push_back(cohort);
  }

  /// All that run decode up to the next node; who finds no room is preempted half way there, and the others' sequences
  /// end.
  void grow() {
    Occupancy::Part part{step_, 0, 0};
    preempt(part);
    for (const Cohort& cohort : running_) add_decoded(part, cohort, 1);
    if (part.sequences > 0) part.context /= part.sequences;
    made_.parts.push_back(part);
    for (Cohort& cohort : running_) cohort.count *= 1 - ending_[++cohort.age];
    std::erase_if(running_, [](const Cohort& cohort) { return cohort.count < too_few; });
  }

  void add_decoded(Occupancy::Part& part, const Cohort& cohort, double share) const {
    part.sequences += share * cohort.count;
    part.context += share * cohort.count * (static_cast<double>(cohort.age) + share / 2) * step_;
  }

  void preempt(Occupancy::Part& part) {
    double count = running_count();
    double beyond = running_tokens() + count * step_ - work_.room;
    while (beyond > too_few && count > 1 + too_few) {
      made_.is_short_of_room = true;
      Cohort& last = running_.back();
      const double leave = std::min({last.count, beyond / held_[last.age + 1], count - 1});
      add_decoded(part, {last.age, leave}, 0.5);
      wait_again({last.age, leave / 2});
      wait_again({last.age + 1, leave / 2 * (1 - ending_[last.age + 1])});
      beyond -= leave * held_[last.age + 1];
      count -= leave;
      last.count -= leave;
      if (last.count < too_few) running_.pop_back();
    }
  }

  void wait_again(const Cohort& cohort) {
    if (cohort.count < too_few) return;
    if (!again_.empty() && again_.front().age == cohort.age)
      again_.front().count += cohort.count;
    else
      again_.push_front(cohort);
  }

  /// When the third wave has ended: it stands for as many more as there are.
  void repeat_waves() {
    double waiting = fresh_;
    for (const Cohort& cohort : again_) waiting += cohort.count;
    so_far_.part = made_.parts.size();
    // Until nobody waits.
    if (waiting > too_few) so_far_.ended = work_.sequences - waiting - running_count();
    const double ended = so_far_.ended / made_.at_start;
    if (!second_ && ended >= 2) second_ = so_far_;
    if (third_ || ended < 3) return;
    third_ = so_far_;
    double tokens = 0;
    for (std::size_t part = second_->part; part < third_->part; ++part)
      tokens += made_.parts[part].steps * made_.parts[part].sequences;
    const double more = tokens > 0 ? std::floor(fresh_ * mean_ / tokens) - 1 : 0;
    if (more < 1) return;
    fresh_ -= more * tokens / mean_;
    for (std::size_t part = second_->part; part < third_->part; ++part) made_.parts[part].steps *= 1 + more;
    so_far_.recomputed += more * (third_->recomputed - second_->recomputed);
    so_far_.came_back += more * (third_->came_back - second_->came_back);
  }

  CacheWork work_;
  double mean_;
  double step_ = 0;             // tokens from node to node
  std::vector<double> ending_;  // [node] of those that are so long or longer, the part that is just so long
  std::vector<double> held_;    // [node] tokens that a sequence has room for
  double fresh_;                // that have not entered yet
  std::deque<Cohort> running_;  // in the order of their entry
  std::deque<Cohort> again_;    // preempted, the next first
  std::optional<Mark> second_;  // when so many waves had ended
  std::optional<Mark> third_;
  Mark so_far_;
  Occupancy made_;
};

}  // namespace

Occupancy cache_occupancy_of(const workflow::LengthDistribution& lengths, const CacheWork& work) {
  return Cache(lengths, work).play();
}

}  // namespace dovetail::cost
