#include "simulate/links.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <utility>

#include "base/assert.h"

namespace dovetail::simulate {
namespace {

/// Shares out one link after the other, the most crowded first, until every transfer has its part.
class Filling {
 public:
  Filling(const std::vector<const Transfer*>& transfers, int links)
      : transfers_(transfers), shares_(transfers.size(), -1), on_(static_cast<std::size_t>(links)), left_(on_.size(), 1) {
    for (std::size_t index = 0; index < transfers.size(); ++index)
      for (const int link : transfers[index]->links) on_[static_cast<std::size_t>(link)].push_back(index);
    for (const std::vector<std::size_t>& on : on_) open_.push_back(on.size());
    for (std::size_t link = 0; link < on_.size(); ++link) push(link);
  }

  std::vector<double> fill() {
    while (!queue_.empty()) {
      const auto [share, link] = queue_.top();
      queue_.pop();
      if (open_[link] == 0) continue;
      // Others have been served since: the part has grown.
      if (share != part_of(link))
        push(link);
      else
        serve(link, share);
    }
    return std::move(shares_);
  }

 private:
  double part_of(std::size_t link) const { return std::max(0.0, left_[link]) / static_cast<double>(open_[link]); }

  void push(std::size_t link) {
    if (open_[link] > 0) queue_.emplace(part_of(link), link);
  }

  void serve(std::size_t crowded, double share) {
    for (const std::size_t index : on_[crowded]) {
      if (shares_[index] >= 0) continue;
      shares_[index] = share;
      for (const int link : transfers_[index]->links) {
        left_[static_cast<std::size_t>(link)] -= share;
        --open_[static_cast<std::size_t>(link)];
      }
    }
  }

  using Entry = std::pair<double, std::size_t>;
  const std::vector<const Transfer*>& transfers_;
  std::vector<double> shares_;                // [transfer]; below 0: not yet known
  std::vector<std::vector<std::size_t>> on_;  // [link] transfers
  std::vector<double> left_;                  // [link]
  std::vector<std::size_t> open_;             // [link] transfers without a share
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::vector<double> fair_shares(const std::vector<const Transfer*>& transfers, int links) { return Filling(transfers, links).fill(); }

void Traffic::begin(const Transfer& transfer, std::size_t name) {
  DOVETAIL_ASSERT(transfer.alone > base::Ticks(0) && !transfer.links.empty());
  ways_.push_back({&transfer, name, static_cast<double>(transfer.alone.count()), 0, base::Ticks(0)});
  shared_out_ = false;
}

void Traffic::share_out() {
  if (shared_out_) return;
  std::vector<const Transfer*> transfers;
  transfers.reserve(ways_.size());
  for (const Way& way : ways_) transfers.push_back(way.transfer);
  const std::vector<double> shares = fair_shares(transfers, links_);
  for (std::size_t index = 0; index < ways_.size(); ++index) {
    Way& way = ways_[index];
    way.share = shares[index];
    DOVETAIL_ASSERT(way.share > 0);
    way.arrival = now_ + base::Ticks(static_cast<std::int64_t>(std::ceil(way.left / way.share)));
  }
  shared_out_ = true;
}

base::Ticks Traffic::next_arrival() {
  DOVETAIL_ASSERT(!ways_.empty());
  share_out();
  return std::min_element(ways_.begin(), ways_.end(), [](const Way& a, const Way& b) { return a.arrival < b.arrival; })->arrival;
}

std::vector<std::size_t> Traffic::advance(base::Ticks time) {
  DOVETAIL_ASSERT(time >= now_ && (ways_.empty() || time <= next_arrival()));
  const auto passed = static_cast<double>((time - now_).count());
  now_ = time;
  std::vector<std::size_t> arrived;
  for (Way& way : ways_) {
    way.left = std::max(0.0, way.left - way.share * passed);
    if (way.arrival <= time) arrived.push_back(way.name);
  }
  if (arrived.empty()) return arrived;
  std::erase_if(ways_, [time](const Way& way) { return way.arrival <= time; });
  shared_out_ = false;
  return arrived;
}

}  // namespace dovetail::simulate
