#include "simulate/traffic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "base/assert.h"

namespace dovetail::simulate {

namespace {

/// Fills links one after the other, the most crowded first, until every transfer has its share. Links in use are
/// renumbered in order.
class Filling {
 public:
  explicit Filling(const std::vector<const Transfer*>& transfers) : shares_(transfers.size(), -1) {
    int links = 0;
    for (const Transfer* transfer : transfers)
      for (const int link : transfer->links) links = std::max(links, link + 1);
    number_of_.resize(static_cast<std::size_t>(links));
    for (const Transfer* transfer : transfers)
      for (const int link : transfer->links) number_of_[static_cast<std::size_t>(link)] = 1;
    std::size_t count = 0;
    for (std::size_t& number : number_of_) count += std::exchange(number, count);
    left_.assign(count, 1);
    open_.assign(count, 0);
    for (const Transfer* transfer : transfers) {
      first_link_.push_back(link_of_.size());
      for (const int link : transfer->links) {
        link_of_.push_back(number_of_[static_cast<std::size_t>(link)]);
        ++open_[link_of_.back()];
      }
    }
    first_link_.push_back(link_of_.size());
    list_transfers();
  }

  std::vector<double> fill() {
    for (std::size_t link = 0; link < left_.size(); ++link) push(link);
    while (!queue_.empty()) {
      const auto [share, link] = queue_.top();
      queue_.pop();
      if (open_[link] == 0) continue;
      // Other links were filled since then, so the share has grown.
      if (share != part_of(link))
        push(link);
      else
        serve(link, share);
    }
    return std::move(shares_);
  }

 private:
  /// Lists the transfers by link.
  void list_transfers() {
    first_transfer_.assign(left_.size() + 1, 0);
    for (std::size_t link = 0; link < left_.size(); ++link)
      first_transfer_[link + 1] = first_transfer_[link] + open_[link];
    transfer_on_.resize(link_of_.size());
    std::vector<std::size_t> next(first_transfer_.begin(), first_transfer_.end() - 1);
    for (std::size_t transfer = 0; transfer < shares_.size(); ++transfer)
      for (std::size_t at = first_link_[transfer]; at < first_link_[transfer + 1]; ++at)
        transfer_on_[next[link_of_[at]]++] = transfer;
  }

  double part_of(std::size_t link) const { return std::max(0.0, left_[link]) / static_cast<double>(open_[link]); }

  void push(std::size_t link) {
    if (open_[link] > 0) queue_.emplace(part_of(link), link);
  }

  void serve(std::size_t crowded, double share) {
    for (std::size_t place = first_transfer_[crowded]; place < first_transfer_[crowded + 1]; ++place) {
      const std::size_t transfer = transfer_on_[place];
      if (shares_[transfer] >= 0) continue;
      shares_[transfer] = share;
      for (std::size_t at = first_link_[transfer]; at < first_link_[transfer + 1]; ++at) {
        left_[link_of_[at]] -= share;
        --open_[link_of_[at]];
      }
    }
  }

  using Entry = std::pair<double, std::size_t>;
  std::vector<double> shares_;               // [transfer]; below 0: not known yet
  std::vector<std::size_t> number_of_;       // [link] its number among links in use
  std::vector<std::size_t> first_link_;      // [transfer] start of its links in link_of_
  std::vector<std::size_t> link_of_;         // link numbers
  std::vector<std::size_t> first_transfer_;  // [link number] start of its transfers in transfer_on_
  std::vector<std::size_t> transfer_on_;
  std::vector<double> left_;       // [link number] unassigned fraction
  std::vector<std::size_t> open_;  // [link number] transfers without a share
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::vector<double> fair_shares(const std::vector<const Transfer*>& transfers) { return Filling(transfers).fill(); }

namespace {

std::size_t hash_of(const std::vector<const Transfer*>& transfers) {
  std::uint64_t hash = transfers.size();
  const auto mix = [&hash](std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  };
  for (const Transfer* transfer : transfers) {
    for (const int link : transfer->links) mix(link);
    mix(transfer->uncontended.count());
  }
  return hash;
}

}  // namespace

const TransferCache::CachedTransfers* TransferCache::find(const std::vector<const Transfer*>& transfers) const {
  const auto [begin, end] = known_.equal_range(hash_of(transfers));
  for (auto known = begin; known != end; ++known)
    if (std::equal(transfers.begin(), transfers.end(), known->second.transfers.begin(), known->second.transfers.end(),
                   [](const Transfer* a, const Transfer& b) { return *a == b; }))
      return &known->second;
  return nullptr;
}

void TransferCache::add(const std::vector<const Transfer*>& transfers, std::vector<Arrival> arrivals) {
  CachedTransfers course{{}, std::move(arrivals)};
  course.transfers.reserve(transfers.size());
  for (const Transfer* transfer : transfers) course.transfers.push_back(*transfer);
  known_.emplace(hash_of(transfers), std::move(course));
}

void Traffic::begin(const Transfer& transfer, std::size_t name) {
  DOVETAIL_ASSERT(transfer.uncontended > base::Ticks(0) && !transfer.links.empty());
  if (active_count_ == 0) {
    active_.clear();
    later_.clear();
    started_ = now_;
    gathering_ = true;
  }
  if (cached_ != nullptr) leave_cached();
  active_.push_back({&transfer, name, static_cast<double>(transfer.uncontended.count()), now_, 0, base::Ticks(0)});
  ++active_count_;
  if (gathering_) return;
  kept_ = false;
  join(active_.size() - 1);
}

std::vector<const Transfer*> Traffic::transfers() const {
  std::vector<const Transfer*> transfers;
  transfers.reserve(active_.size());
  for (const ActiveTransfer& active : active_) transfers.push_back(active.transfer);
  return transfers;
}

/// Starts time for transfers that began together: by a cached record, or by shares.
void Traffic::start_gathered() {
  gathering_ = false;
  kept_ = cache_ != nullptr && active_.size() > exact_count;
  arrivals_.clear();
  if (kept_) cached_ = cache_->find(transfers());
  if (cached_ == nullptr) return join_all();
  kept_ = false;
  next_ = 0;
}

/// Leaves a known record because another transfer joins: replays its transfers from their beginning to now.
void Traffic::leave_cached() {
  const base::Ticks now = std::exchange(now_, started_);
  cached_ = nullptr;
  active_count_ = active_.size();
  join_all();
  do {
    advance(std::min(next_arrival(), now));
  } while (now_ < now);
}

void Traffic::join_all() {
  for (std::size_t index = 0; index < active_.size(); ++index) join(index);
}

void Traffic::join(std::size_t index) {
  const std::vector<int>& links = active_[index].transfer->links;
  for (const int link : links) on_[static_cast<std::size_t>(link)].push_back(index);
  changed_.insert(changed_.end(), links.begin(), links.end());
  begun_ = true;
}

/// Returns the transfers connected to changed links, directly or through other transfers, ascending.
std::vector<std::size_t> Traffic::connected() {
  std::vector<char> seen_link(on_.size());
  std::vector<char> seen(active_.size());
  while (!changed_.empty()) {
    const auto link = static_cast<std::size_t>(changed_.back());
    changed_.pop_back();
    if (std::exchange(seen_link[link], 1) != 0) continue;
    for (const std::size_t index : on_[link]) {
      if (std::exchange(seen[index], 1) != 0) continue;
      const std::vector<int>& links = active_[index].transfer->links;
      changed_.insert(changed_.end(), links.begin(), links.end());
    }
  }
  std::vector<std::size_t> found;
  for (std::size_t index = 0; index < seen.size(); ++index)
    if (seen[index] != 0) found.push_back(index);
  return found;
}

void Traffic::set_share(std::size_t index, double share) {
  DOVETAIL_ASSERT(share > 0);
  ActiveTransfer& active = active_[index];
  if (active.share == share) return;
  active.left = std::max(0.0, active.left - active.share * static_cast<double>((now_ - active.since).count()));
  active.since = now_;
  active.share = share;
  active.arrival = now_ + base::Ticks(static_cast<std::int64_t>(std::ceil(active.left / active.share)));
  later_.push_back({active.arrival, index});
  std::push_heap(later_.begin(), later_.end(), std::greater<>());
}

/// Returns the time by which freed bandwidth must be redistributed.
base::Ticks Traffic::due() const {
  return first_left_ + base::Ticks((first_left_ - started_).count() / static_cast<std::int64_t>(exact_count));
}

bool Traffic::must_share() const {
  return begun_ || active_count_ <= exact_count || left_ * exact_count >= active_count_ || now_ >= due();
}

void Traffic::share_out() {
  if (changed_.empty() || !must_share()) return;
  begun_ = false;
  left_ = 0;
  const std::vector<std::size_t> indices = connected();
  std::vector<const Transfer*> transfers;
  transfers.reserve(indices.size());
  for (const std::size_t index : indices) transfers.push_back(active_[index].transfer);
  const std::vector<double> shares = fair_shares(transfers);
  for (std::size_t index = 0; index < indices.size(); ++index) set_share(indices[index], shares[index]);
  if (later_.size() <= 4 * active_count_) return;
  std::erase_if(later_, [this](const ScheduledArrival& noted) { return is_outdated(noted); });
  std::make_heap(later_.begin(), later_.end(), std::greater<>());
}

/// Returns the first arrival, or null if no transfer has a share.
const Traffic::ScheduledArrival* Traffic::first_due() {
  while (!later_.empty() && is_outdated(later_.front())) {
    std::pop_heap(later_.begin(), later_.end(), std::greater<>());
    later_.pop_back();
  }
  return later_.empty() ? nullptr : &later_.front();
}

base::Ticks Traffic::next_arrival() {
  DOVETAIL_ASSERT(!empty());
  if (gathering_) start_gathered();
  if (cached_ != nullptr) return started_ + cached_->arrivals[next_].after;
  share_out();
  const base::Ticks next = first_due()->time;
  return changed_.empty() ? next : std::min(next, due());
}

void Traffic::arrive(std::size_t index) {
  ActiveTransfer& active = active_[index];
  active.arrival = base::Ticks(-1);
  for (const int link : active.transfer->links) std::erase(on_[static_cast<std::size_t>(link)], index);
  changed_.insert(changed_.end(), active.transfer->links.begin(), active.transfer->links.end());
  if (left_++ == 0) first_left_ = now_;
  if (kept_) arrivals_.push_back({now_ - started_, index});
}

/// Returns the transfers that arrive by now, by the record or by their shares.
std::vector<std::size_t> Traffic::arrived() {
  std::vector<std::size_t> indices;
  if (cached_ != nullptr) {
    for (; next_ < cached_->arrivals.size() && started_ + cached_->arrivals[next_].after <= now_; ++next_)
      indices.push_back(cached_->arrivals[next_].transfer);
  } else {
    for (const ScheduledArrival* due = first_due(); due != nullptr && due->time <= now_; due = first_due()) {
      indices.push_back(due->index);
      arrive(due->index);
    }
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

std::vector<std::size_t> Traffic::advance(base::Ticks time) {
  DOVETAIL_ASSERT(time >= now_ && (empty() || time <= next_arrival()));
  now_ = time;
  std::vector<std::size_t> indices = arrived();
  active_count_ -= indices.size();
  if (empty()) {
    cached_ = nullptr;
    if (std::exchange(kept_, false)) cache_->add(transfers(), std::exchange(arrivals_, {}));
  }
  for (std::size_t& index : indices) index = active_[index].name;
  return indices;
}

}  // namespace dovetail::simulate
