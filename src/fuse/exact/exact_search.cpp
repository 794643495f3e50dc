#include "fuse/exact/exact_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

namespace dovetail::fuse {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// How many nodes pass between two looks at the cancellation, and between two reports.
constexpr std::int64_t nodes_a_look = 256;
constexpr std::int64_t nodes_a_report = 65536;

}  // namespace

ExactSearch::ExactSearch(const ExactModel& model, std::int64_t nodes, std::size_t memory_bytes,
                         const parallel::Cancellation* cancellation)
    : model_(model),
      max_nodes_(nodes),
      cancellation_(cancellation),
      failed_(model.classes.size(), memory_bytes),
      end_(model.size()),
      earliest_(model.classes_of_device.size()) {}

ExactSearch::Outcome ExactSearch::find(std::int64_t deadline, const CappedModel& capped, std::int64_t allowance) {
  capped_ = &capped;
  deadline_ = deadline;
  allowance_ = allowance;
  const std::size_t devices = model_.classes_of_device.size();
  started_.assign(model_.classes.size(), 0);
  free_.assign(devices, 0);
  held_.assign(devices, 0);
  unacquired_.assign(devices, 0);
  for (const ExactClass& own : model_.classes)
    unacquired_[own.device] += own.acquire * static_cast<std::int64_t>(own.count);
  path_.clear();
  children_.clear();
  states_.clear();
  return explore(0, 0);
}

ExactSearch::Outcome ExactSearch::explore(std::int64_t now, std::size_t now_place) {
  if (nodes_ >= max_nodes_) return Outcome::stopped;
  ++nodes_;
  if (nodes_ % nodes_a_look == 0 && cancellation_ && cancellation_->requested()) return Outcome::stopped;
  if (nodes_ % nodes_a_report == 0 && on_nodes) on_nodes();
  if (path_.size() == model_.size()) return Outcome::found;
  if (!raise_heads(now) || is_known_to_fail()) return Outcome::none;
  for (std::size_t device = 0; device < free_.size(); ++device)
    if (!fits_machine(device) || !fits_memory(device)) return Outcome::none;
  const std::size_t first_value = states_.size();
  states_.insert(states_.end(), values_.begin(), values_.end());
  const std::size_t first_child = append_children(now, now_place);
  for (std::size_t i = first_child; i < children_.size(); ++i) {
    const Child child = children_[i];
    const std::int64_t was_free = free_[model_.classes[child.own_class].device];
    start(child);
    const Outcome outcome = explore(child.start, child.place);
    if (outcome != Outcome::none) return outcome;
    take_back(child, was_free);
  }
  children_.resize(first_child);
  failed_.insert(started_, std::span(states_).subspan(first_value));
  states_.resize(first_value);
  return Outcome::none;
}

/// The earliest that each op can still run. False where one cannot keep the deadline.
bool ExactSearch::raise_heads(std::int64_t now) {
  std::fill(earliest_.begin(), earliest_.end(), never);
  for (const std::size_t op : capped_->order) {
    const std::size_t index = model_.class_of[op];
    const ExactClass& own = model_.classes[index];
    const std::size_t position = op - own.first;
    if (position < started_[index]) continue;
    std::int64_t head = std::max(now, free_[own.device]);
    if (position > 0) head = std::max(head, end_[op - 1]);
    for (std::size_t i = capped_->waits.begin[op]; i < capped_->waits.begin[op + 1]; ++i)
      head = std::max(head, end_[capped_->waits.waits[i].op] + capped_->waits.waits[i].lag);
    const std::int64_t end = head + own.duration;
    if (end + capped_->tail[op] > deadline_) return false;
    end_[op] = end;
    earliest_[own.device] = std::min(earliest_[own.device], head);
  }
  return true;
}

void ExactSearch::gather_rows(std::size_t device) {
  rows_.clear();
  for (const std::size_t index : model_.classes_of_device[device]) {
    const ExactClass& own = model_.classes[index];
    if (started_[index] < own.count)
      rows_.push_back({next_op(index), own.first + own.count, own.duration, own.duration});
  }
}

/// Whether one machine, which may interrupt ops, can run what is left on the device between heads and latest ends
/// (Jackson's rule). Within a class both rise with the op, so that the next op of each class is the only one to look
/// at.
bool ExactSearch::fits_machine(std::size_t device) {
  gather_rows(device);
  std::int64_t now = 0;
  while (!rows_.empty()) {
    MachineRow* next = nullptr;
    std::int64_t next_due = never;
    std::int64_t next_release = never;
    for (MachineRow& row : rows_) {
      const std::int64_t head = end_[row.op] - row.duration;
      const std::int64_t due = deadline_ - capped_->tail[row.op];
      if (head > now) {
        next_release = std::min(next_release, head);
      } else if (due < next_due) {
        next_due = due;
        next = &row;
      }
    }
    if (next == nullptr) {
      now = next_release;
      continue;
    }
    const std::int64_t run = std::min(next->left, next_release - now);
    now += run;
    next->left -= run;
    if (next->left > 0) continue;
    if (now > next_due) return false;
    next->left = next->duration;
    if (++next->op < next->end) continue;
    *next = rows_.back();
    rows_.pop_back();
  }
  return true;
}

/// Whether the forwards that must have started at each moment are within the cap, if all that can have ended by then
/// has ended.
bool ExactSearch::fits_memory(std::size_t device) const {
  for (const std::size_t stage : model_.stages_of_device[device]) {
    const ExactClass& forward = model_.classes[model_.activation[stage][0]];
    for (std::size_t k = started_[model_.activation[stage][0]]; k < forward.count; ++k) {
      const std::int64_t moment = deadline_ - capped_->tail[forward.first + k] - forward.duration;
      std::int64_t held = 0;
      for (const std::size_t other : model_.stages_of_device[device])
        held += min_held(model_.activation[other], moment);
      if (held > capped_->cap[device]) return false;
    }
  }
  return true;
}

/// How many ops of the class can have ended at `moment`.
std::size_t ExactSearch::max_ended(std::size_t index, std::int64_t moment) const {
  const ExactClass& own = model_.classes[index];
  std::size_t count = started_[index];
  if (count > 0 && end_[own.first + count - 1] > moment) return count - 1;
  while (count < own.count && end_[own.first + count] <= moment) ++count;
  return count;
}

/// What the pipeline stage holds right after `moment`, at least: forwards that must have started, less backwards that
/// can have ended.
std::int64_t ExactSearch::min_held(const std::vector<std::size_t>& stage, std::int64_t moment) const {
  const ExactClass& forward = model_.classes[stage[0]];
  std::size_t forwards = started_[stage[0]];
  while (forwards < forward.count && deadline_ - capped_->tail[forward.first + forwards] - forward.duration <= moment)
    ++forwards;
  const std::size_t backwards = std::min(forwards, max_ended(stage[1], moment));
  std::int64_t held = forward.acquire * static_cast<std::int64_t>(forwards - backwards);
  if (stage.size() > 2)
    held += model_.classes[stage[2]].release *
            static_cast<std::int64_t>(backwards - std::min(backwards, max_ended(stage[2], moment)));
  return held;
}

bool ExactSearch::has_started(std::size_t op) const {
  const std::size_t index = model_.class_of[op];
  return op < model_.classes[index].first + started_[index];
}

bool ExactSearch::waits_for_a_start(std::size_t op) const {
  for (std::size_t i = capped_->waits.begin[op]; i < capped_->waits.begin[op + 1]; ++i)
    if (!has_started(capped_->waits.waits[i].op)) return true;
  return false;
}

/// Fills values_: from when on each device can be used, and when the ops that something of another device has been sent
/// to can start at the earliest. All else that has started has ended by now, or is on the op's own device. Of what one
/// device sends to one class without a lag, all but the last has arrived.
bool ExactSearch::is_known_to_fail() {
  values_.clear();
  values_.push_back(allowance_);
  for (const std::int64_t earliest : earliest_) values_.push_back(earliest == never ? never : left(earliest));
  for (std::size_t index = 0; index < model_.classes.size(); ++index) {
    const ExactClass& own = model_.classes[index];
    std::size_t op = next_op(index);
    const std::size_t begin = op;
    const std::size_t end = own.first + own.count;
    while (op < end && is_sent_to(op)) ++op;
    if (op == begin) continue;
    for (std::size_t sent = own.awaits_several ? begin : op - 1; sent < op; ++sent)
      values_.push_back(left(end_[sent] - own.duration));
  }
  return failed_.covers(started_, values_);
}

/// Whether the op waits for one of another device that has started.
bool ExactSearch::is_sent_to(std::size_t op) const {
  for (std::size_t i = model_.waits.begin[op]; i < model_.waits.begin[op + 1]; ++i) {
    const std::size_t other = model_.waits.waits[i].op;
    const ExactClass& sender = model_.classes[model_.class_of[other]];
    if (sender.device != model_.classes[model_.class_of[op]].device && has_started(other)) return true;
  }
  return false;
}

/// What may start next, in order of time, then of place: nothing before what started last. An op that takes no memory,
/// or that has room whatever happens, must not be left waiting for longer than it takes.
std::size_t ExactSearch::append_children(std::int64_t now, std::size_t now_place) {
  const std::size_t begin = children_.size();
  std::int64_t limit = never;
  Child instant{never, 0, 0, 0};
  for (std::size_t index = 0; index < model_.classes.size(); ++index) {
    const ExactClass& own = model_.classes[index];
    if (started_[index] == own.count) continue;
    const std::size_t op = next_op(index);
    if (held_[own.device] + own.acquire > capped_->cap[own.device] || waits_for_a_start(op)) continue;
    std::int64_t earliest = free_[own.device];
    for (std::size_t i = capped_->waits.begin[op]; i < capped_->waits.begin[op + 1]; ++i)
      earliest = std::max(earliest, end_[capped_->waits.waits[i].op] + capped_->waits.waits[i].lag);
    const bool has_room = held_[own.device] + unacquired_[own.device] <= capped_->cap[own.device];
    const Child child{earliest, place_of(own), deadline_ - capped_->tail[op] - own.duration, index};
    if (own.acquire == 0 || has_room) {
      if (own.duration > 0)
        limit = std::min(limit, earliest + own.duration);
      else
        instant = std::min(instant, Child{earliest, place_of(own), 0, 0});
    }
    if (std::pair(earliest, child.place) >= std::pair(now, now_place)) children_.push_back(child);
  }
  const auto comes_too_late = [&](const Child& child) {
    return child.start >= limit || std::pair(child.start, child.place) > std::pair(instant.start, instant.place);
  };
  children_.erase(
      std::remove_if(children_.begin() + static_cast<std::ptrdiff_t>(begin), children_.end(), comes_too_late),
      children_.end());
  std::sort(children_.begin() + static_cast<std::ptrdiff_t>(begin), children_.end());
  return begin;
}

void ExactSearch::start(const Child& child) {
  const ExactClass& own = model_.classes[child.own_class];
  const std::size_t op = next_op(child.own_class);
  ++started_[child.own_class];
  end_[op] = child.start + own.duration;
  free_[own.device] = end_[op];
  held_[own.device] += own.acquire - own.release;
  unacquired_[own.device] -= own.acquire;
  path_.push_back(op);
}

void ExactSearch::take_back(const Child& child, std::int64_t was_free) {
  const ExactClass& own = model_.classes[child.own_class];
  --started_[child.own_class];
  free_[own.device] = was_free;
  held_[own.device] -= own.acquire - own.release;
  unacquired_[own.device] += own.acquire;
  path_.pop_back();
}

}  // namespace dovetail::fuse
