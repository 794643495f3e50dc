#include "simulate/fair_shares.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace dovetail::simulate {
namespace {

/// Shares out one link after the other, the most crowded first, until every transfer has its part. Links are numbered
/// anew, in their order.
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
      // Others have been served since: the part has grown.
      if (share != part_of(link))
        push(link);
      else
        serve(link, share);
    }
    return std::move(shares_);
  }

 private:
  /// Puts transfers in the order of their links.
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
  std::vector<double> shares_;               // [transfer]; below 0: not yet known
  std::vector<std::size_t> number_of_;       // [link], of those that there are
  std::vector<std::size_t> first_link_;      // [transfer] where its links begin in link_of_
  std::vector<std::size_t> link_of_;         // numbers of links
  std::vector<std::size_t> first_transfer_;  // [number of a link] where its transfers begin in transfer_on_
  std::vector<std::size_t> transfer_on_;
  std::vector<double> left_;       // [number of a link]
  std::vector<std::size_t> open_;  // [number of a link] transfers without a share
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::vector<double> fair_shares(const std::vector<const Transfer*>& transfers) { return Filling(transfers).fill(); }

}  // namespace dovetail::simulate
