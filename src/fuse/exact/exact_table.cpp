#include "fuse/exact/exact_table.h"

#include <algorithm>
#include <bit>

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
    // What covers one state often covers the next: it moves half-way to the front.
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
  if (kept == bucket.capacity && !make_room(bucket, size)) return;
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

/// A block of twice the size for a full bucket, from those given up where there is one. False where memory is used up.
bool FailedStates::make_room(Bucket& bucket, std::size_t size) {
  const std::size_t words = std::bit_ceil((bucket.states + 1) * size);
  std::vector<std::size_t>& free_blocks = free_blocks_[static_cast<std::size_t>(std::countr_zero(words))];
  std::size_t begin = values_.size();
  if (!free_blocks.empty()) {
    begin = free_blocks.back();
    free_blocks.pop_back();
  } else {
    const std::size_t others = buckets_.size() * (sizeof(Bucket) + key_size_ * 2) + slots_.size() * 4;
    // A vector that grows holds its old and its new array at once, the new one twice as large.
    const std::size_t grown =
        values_.size() + words <= values_.capacity() ? values_.capacity() : values_.capacity() * 3 + words;
    full_ = grown * sizeof(std::int64_t) + others * 3 > memory_bytes_;
    if (full_) return false;
    values_.resize(values_.size() + words);
  }
  std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(bucket.begin), bucket.states * size,
              values_.begin() + static_cast<std::ptrdiff_t>(begin));
  if (bucket.capacity > 0)
    free_blocks_[static_cast<std::size_t>(std::countr_zero(std::bit_ceil(bucket.capacity * size)))].push_back(
        bucket.begin);
  bucket.begin = begin;
  bucket.capacity = words / size;
  return true;
}

}  // namespace dovetail::fuse
