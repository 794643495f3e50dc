#include "fuse/exact/exact_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>
#include <utility>

#include "base/random.h"

namespace dovetail::fuse {
namespace {

bool is_covered(const std::int64_t* values, const std::int64_t* by, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (values[i] > by[i]) return false;
  return true;
}

}  // namespace

FailedStates::FailedStates(std::size_t key_size, std::size_t memory_bytes)
    : key_size_(key_size), memory_bytes_(memory_bytes), slots_(1024), free_blocks_(64) {}

std::size_t FailedStates::find_slot(std::span<const std::uint16_t> key) const {
  std::uint64_t hash = 0;
  for (const std::uint16_t number : key) hash = (hash ^ number) * 0x9E3779B97F4A7C15ULL;
  std::size_t slot = base::scatter(hash) & (slots_.size() - 1);
  while (slots_[slot] != 0 && !std::equal(key.begin(), key.end(), keys_.data() + (slots_[slot] - 1) * key_size_))
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

bool FailedStates::covers(std::span<const std::uint16_t> key, std::span<const std::int64_t> values) {
  const std::uint32_t entry = slots_[find_slot(key)];
  if (entry == 0) return false;
  const Bucket& bucket = buckets_[entry - 1];
  std::int64_t* const begin = values_.data() + bucket.begin;
  const std::size_t size = values.size();
  for (std::size_t state = 0; state < bucket.states; ++state) {
    if (!is_covered(values.data(), begin + state * size, size)) continue;
    // A state that covers one state often covers the next, so it moves halfway to the front.
    const std::size_t to = state / 2;
    if (to != state) std::swap_ranges(begin + state * size, begin + (state + 1) * size, begin + to * size);
    return true;
  }
  return false;
}

void FailedStates::insert(std::span<const std::uint16_t> key, std::span<const std::int64_t> values) {
  if (full_) return;
  std::size_t slot = find_slot(key);
  if (slots_[slot] == 0) {
    if ((buckets_.size() + 1) * 2 > slots_.size()) {
      grow_slots();
      slot = find_slot(key);
    }
    buckets_.emplace_back();
    keys_.insert(keys_.end(), key.begin(), key.end());
    slots_[slot] = static_cast<std::uint32_t>(buckets_.size());
  }
  Bucket& bucket = buckets_[slots_[slot] - 1];
  const std::size_t size = values.size();
  std::size_t kept = 0;
  for (std::size_t state = 0; state < bucket.states; ++state) {
    std::int64_t* const begin = values_.data() + bucket.begin;
    if (is_covered(begin + state * size, values.data(), size)) continue;
    if (kept != state) std::copy_n(begin + state * size, size, begin + kept * size);
    ++kept;
  }
  states_ -= bucket.states - kept;
  bucket.states = kept;
  if (kept == bucket.capacity && !make_space(bucket, size)) return;
  std::copy(values.begin(), values.end(),
            values_.begin() + static_cast<std::ptrdiff_t>(bucket.begin + bucket.states * size));
  ++bucket.states;
  ++states_;
}

void FailedStates::grow_slots() {
  slots_.assign(slots_.size() * 2, 0);
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    slots_[find_slot({keys_.data() + bucket * key_size_, key_size_})] = static_cast<std::uint32_t>(bucket + 1);
}

/// Moves a full bucket to a block of twice the size, reusing a free block if there is one. Returns false if the memory
/// is used up.
bool FailedStates::make_space(Bucket& bucket, std::size_t size) {
  const std::size_t value_count = std::bit_ceil((bucket.states + 1) * size);
  std::vector<std::size_t>& free_blocks = free_blocks_[static_cast<std::size_t>(std::countr_zero(value_count))];
  std::size_t begin = values_.size();
  if (!free_blocks.empty()) {
    begin = free_blocks.back();
    free_blocks.pop_back();
  } else {
    const std::size_t others = buckets_.size() * (sizeof(Bucket) + key_size_ * 2) + slots_.size() * 4;
    // A growing vector holds its old and its new array at once, and the new one is twice as large.
    const std::size_t grown =
        values_.size() + value_count <= values_.capacity() ? values_.capacity() : values_.capacity() * 3 + value_count;
    full_ = grown * sizeof(std::int64_t) + others * 3 > memory_bytes_;
    if (full_) return false;
    values_.resize(values_.size() + value_count);
  }
  std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(bucket.begin), bucket.states * size,
              values_.begin() + static_cast<std::ptrdiff_t>(begin));
  if (bucket.capacity > 0)
    free_blocks_[static_cast<std::size_t>(std::countr_zero(std::bit_ceil(bucket.capacity * size)))].push_back(
        bucket.begin);
  bucket.begin = begin;
  bucket.capacity = value_count / size;
  return true;
}

namespace {

constexpr std::int64_t no_due_date = std::numeric_limits<std::int64_t>::max();

/// Number of nodes between two checks of the cancellation, and between two progress reports.
constexpr std::int64_t nodes_per_check = 256;
constexpr std::int64_t nodes_per_report = 65536;

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
  if (nodes_ % nodes_per_check == 0 && cancellation_ && cancellation_->requested()) return Outcome::stopped;
  if (nodes_ % nodes_per_report == 0 && on_nodes) on_nodes();
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

/// Computes the earliest possible end of each op. Returns false if an op cannot meet the deadline.
bool ExactSearch::raise_heads(std::int64_t now) {
  std::fill(earliest_.begin(), earliest_.end(), no_due_date);
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

/// Whether a preemptive machine can run the device's remaining ops between their heads and latest ends (Jackson's
/// rule). Within a class both increase with the op, so only the next op of each class needs checking.
bool ExactSearch::fits_machine(std::size_t device) {
  gather_rows(device);
  std::int64_t now = 0;
  while (!rows_.empty()) {
    MachineRow* next = nullptr;
    std::int64_t next_due = no_due_date;
    std::int64_t next_release = no_due_date;
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

/// Whether the forwards that must have started are within the cap at every moment, if every op that can have ended by
/// then has ended.
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

/// Returns how many ops of the class can have ended at `moment`.
std::size_t ExactSearch::max_ended(std::size_t index, std::int64_t moment) const {
  const ExactClass& own = model_.classes[index];
  std::size_t count = started_[index];
  if (count > 0 && end_[own.first + count - 1] > moment) return count - 1;
  while (count < own.count && end_[own.first + count] <= moment) ++count;
  return count;
}

/// Returns the minimum memory that the pipeline stage holds right after `moment`: forwards that must have started minus
/// backwards that can have ended.
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

/// Fills values_: when each device becomes available, and the earliest starts of ops to which another device has sent
/// something. Every other started op has ended by now or is on the op's own device. Without a lag, only the last
/// transfer from one device to one class can still be under way.
bool ExactSearch::is_known_to_fail() {
  values_.clear();
  values_.push_back(allowance_);
  for (const std::int64_t earliest : earliest_)
    values_.push_back(earliest == no_due_date ? no_due_date : left(earliest));
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

/// Whether the op waits for a started op of another device.
bool ExactSearch::is_sent_to(std::size_t op) const {
  for (std::size_t i = model_.waits.begin[op]; i < model_.waits.begin[op + 1]; ++i) {
    const std::size_t other = model_.waits.waits[i].op;
    const ExactClass& sender = model_.classes[model_.class_of[other]];
    if (sender.device != model_.classes[model_.class_of[op]].device && has_started(other)) return true;
  }
  return false;
}

/// Appends the ops that may start next, sorted by time, then by place. They do not precede the last started op. An op
/// that acquires no memory, or always has enough, must not wait longer than its own duration.
std::size_t ExactSearch::append_children(std::int64_t now, std::size_t now_place) {
  const std::size_t begin = children_.size();
  std::int64_t limit = no_due_date;
  Child instant{no_due_date, 0, 0, 0};
  for (std::size_t index = 0; index < model_.classes.size(); ++index) {
    const ExactClass& own = model_.classes[index];
    if (started_[index] == own.count) continue;
    const std::size_t op = next_op(index);
    if (held_[own.device] + own.acquire > capped_->cap[own.device] || waits_for_a_start(op)) continue;
    std::int64_t earliest = free_[own.device];
    for (std::size_t i = capped_->waits.begin[op]; i < capped_->waits.begin[op + 1]; ++i)
      earliest = std::max(earliest, end_[capped_->waits.waits[i].op] + capped_->waits.waits[i].lag);
    const bool has_space = held_[own.device] + unacquired_[own.device] <= capped_->cap[own.device];
    const Child child{earliest, place_of(own), deadline_ - capped_->tail[op] - own.duration, index};
    if (own.acquire == 0 || has_space) {
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
