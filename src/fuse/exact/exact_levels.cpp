#include "fuse/exact/exact_levels.h"

#include <algorithm>
#include <numeric>

namespace dovetail::fuse {
namespace {

/// More sums than these are not listed.
constexpr std::size_t max_levels = 1 << 18;

void sort_and_remove_equal(std::vector<std::int64_t>& levels) {
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
}

/// What a pipeline stage can hold, up to `most`: micro-batches that wait for their backward, and others that wait for
/// W.
std::optional<std::vector<std::int64_t>> levels_of_stage(const ExactModel& model, const std::vector<std::size_t>& stage,
                                                         std::int64_t most) {
  const ExactClass& forward = model.classes[stage[0]];
  const auto count = static_cast<std::int64_t>(forward.count);
  const std::int64_t kept = stage.size() > 2 ? model.classes[stage[2]].release : 0;
  std::vector<std::int64_t> levels;
  for (std::int64_t whole = 0; whole <= count && whole * forward.acquire <= most; ++whole)
    for (std::int64_t part = 0; part <= count - whole && whole * forward.acquire + part * kept <= most; ++part) {
      levels.push_back(whole * forward.acquire + part * kept);
      if (kept == 0) break;
    }
  sort_and_remove_equal(levels);
  if (levels.size() > max_levels) return std::nullopt;
  return levels;
}

/// The sums of one level of each stage on the device, up to `most`.
std::optional<std::vector<std::int64_t>> levels_of_device(const ExactModel& model, std::size_t device,
                                                          std::int64_t most) {
  std::vector<std::int64_t> sums{0};
  for (const auto& stage : model.activation) {
    if (model.classes[stage[0]].device != device) continue;
    const auto levels = levels_of_stage(model, stage, most);
    if (!levels || levels->size() * sums.size() > 16 * max_levels) return std::nullopt;
    std::vector<std::int64_t> larger;
    for (const std::int64_t sum : sums)
      for (const std::int64_t level : *levels) {
        if (sum + level > most) break;
        larger.push_back(sum + level);
      }
    sort_and_remove_equal(larger);
    sums = std::move(larger);
    if (sums.size() > max_levels) return std::nullopt;
  }
  return sums;
}

}  // namespace

Levels::Levels(const ExactModel& model, const std::vector<std::int64_t>& caps, std::int64_t least, std::int64_t peak) {
  if (least >= peak) return;
  for (std::size_t device = 0; listed_ && device < caps.size(); ++device) {
    const auto levels = levels_of_device(model, device, std::min(peak - 1, caps[device]));
    listed_ = levels.has_value();
    if (!listed_) break;
    levels_.insert(levels_.end(), std::lower_bound(levels->begin(), levels->end(), least), levels->end());
  }
  if (!listed_) levels_.clear();
  sort_and_remove_equal(levels_);
  begin_ = listed_ ? 0 : least;
  end_ = listed_ ? static_cast<std::int64_t>(levels_.size()) : peak;
}

std::optional<std::int64_t> Levels::middle() const {
  if (begin_ >= end_) return std::nullopt;
  const std::int64_t middle = std::midpoint(begin_, end_);
  return listed_ ? levels_[static_cast<std::size_t>(middle)] : middle;
}

std::optional<std::int64_t> Levels::least() const {
  if (begin_ >= end_) return std::nullopt;
  return listed_ ? levels_[static_cast<std::size_t>(begin_)] : begin_;
}

void Levels::drop_up_to(std::int64_t peak) {
  begin_ = listed_ ? std::upper_bound(levels_.begin(), levels_.end(), peak) - levels_.begin() : peak + 1;
}

void Levels::drop_from(std::int64_t peak) {
  end_ = listed_ ? std::lower_bound(levels_.begin(), levels_.end(), peak) - levels_.begin() : peak;
}

}  // namespace dovetail::fuse
