// Transfers in progress over shared links, each at its max-min fair share, as time advances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/quantity.h"

namespace dovetail::simulate {

/// Bytes that move over one or more links at the same time.
struct Transfer {
  std::vector<int> links;   ///< links that it occupies; at least one, without duplicates
  base::Ticks uncontended;  ///< duration in ns without other transfers on its links
  std::int64_t bytes = 0;

  bool operator==(const Transfer&) const = default;
};

/// Returns the fraction of its stand-alone speed that each transfer gets if all of `transfers` run at the same time:
/// max-min fair (Bertsekas and Gallager, Data Networks, section 6.5.2). The transfers on a link share it equally. If
/// another link limits some of them to less, the others share the rest. Ties between links go to the lower number.
std::vector<double> fair_shares(const std::vector<const Transfer*>& transfers);

/// Cache of transfers that began together and that no other transfer joined. The weights of a plan move the same way in
/// every iteration, in every draw and at every threshold, so their arrivals are computed once.
class TransferCache {
 public:
  struct Arrival {
    base::Ticks after;  ///< time since the transfers began
    std::size_t transfer = 0;
  };
  struct CachedTransfers {
    std::vector<Transfer> transfers;
    std::vector<Arrival> arrivals;  ///< arrivals in order of time
  };

  /// Returns the cached record of the same transfers in the same order, or null. The pointer stays valid.
  const CachedTransfers* find(const std::vector<const Transfer*>& transfers) const;
  /// REQUIRES: find() returns null for these transfers.
  void add(const std::vector<const Transfer*>& transfers, std::vector<Arrival> arrivals);

 private:
  std::unordered_multimap<std::size_t, CachedTransfers> known_;  // cached transfers, by a hash of the transfers
};

/// Transfers in progress as time advances. When one begins or arrives, shares are recomputed only for transfers that
/// are connected with it through common links.
///
/// With more than `exact_count` transfers, recomputation after an arrival is delayed, and the freed bandwidth stays
/// idle meanwhile. Shares are recomputed once 1 / `exact_count` of the transfers have arrived, or once the time since
/// the first transfer began has grown by that fraction, whichever comes first. Otherwise thousands of slightly
/// different transfers would cause thousands of recomputations. The delay makes arrivals later by about that fraction.
class Traffic {
 public:
  static constexpr std::size_t exact_count = 50;

  /// All links of transfers are below `links`. `cache` provides and stores the arrivals of more than `exact_count`
  /// transfers; null: no cache. The cache does not change any arrival.
  explicit Traffic(int links, TransferCache* cache = nullptr) : cache_(cache), on_(static_cast<std::size_t>(links)) {}

  /// Begins `transfer` now. It must live until no transfer is in progress. `name` identifies it in advance(). REQUIRES:
  /// its `uncontended` is above 0.
  void begin(const Transfer& transfer, std::size_t name);
  bool empty() const { return active_count_ == 0; }
  /// Returns the time of the next arrival, rounded up to ns, or of the next recomputation if that is earlier. REQUIRES:
  /// not empty.
  base::Ticks next_arrival();
  /// Advances to `time`, which is at most next_arrival(). Returns the names of the transfers that arrived, in the order
  /// in which they began.
  std::vector<std::size_t> advance(base::Ticks time);

 private:
  struct ActiveTransfer {
    const Transfer* transfer = nullptr;
    std::size_t name = 0;
    double left = 0;  // remaining stand-alone time in ns, at `since`
    base::Ticks since;
    double share = 0;
    base::Ticks arrival;
  };
  /// Arrival of a transfer at the share that it had when this entry was made.
  struct ScheduledArrival {
    base::Ticks time;
    std::size_t index = 0;

    bool operator>(const ScheduledArrival& other) const {
      return time != other.time ? time > other.time : index > other.index;
    }
  };

  std::vector<const Transfer*> transfers() const;
  void start_gathered();
  void leave_cached();
  void join_all();
  void join(std::size_t index);
  base::Ticks due() const;
  bool must_share() const;
  void share_out();
  std::vector<std::size_t> connected();
  void set_share(std::size_t index, double share);
  bool is_outdated(const ScheduledArrival& due) const { return active_[due.index].arrival != due.time; }
  const ScheduledArrival* first_due();
  void arrive(std::size_t index);
  std::vector<std::size_t> arrived();

  base::Ticks now_;
  base::Ticks started_;                 // time at which the first of `active_` began
  std::vector<ActiveTransfer> active_;  // by beginning, including arrived ones until none is in progress
  std::size_t active_count_ = 0;        // number of transfers in `active_` that have not arrived

  TransferCache* cache_;
  bool gathering_ = false;  // whether all of `active_` began at the current time
  // Cached record of `active_`, or null. If set, arrivals come from it, and shares are not computed.
  const TransferCache::CachedTransfers* cached_ = nullptr;
  std::size_t next_ = 0;                          // index of the next arrival of the record
  bool kept_ = false;                             // whether to record `active_` in the cache
  std::vector<TransferCache::Arrival> arrivals_;  // arrivals of the record that is being made

  bool begun_ = false;                        // whether some transfer has no share yet
  std::size_t left_ = 0;                      // number of arrivals since shares were computed
  base::Ticks first_left_;                    // time of the first of these arrivals
  std::vector<std::vector<std::size_t>> on_;  // [link] transfers in progress
  std::vector<int> changed_;                  // links whose transfers changed since shares were computed
  std::vector<ScheduledArrival> later_;       // min-heap of arrivals, including outdated ones
};

}  // namespace dovetail::simulate
