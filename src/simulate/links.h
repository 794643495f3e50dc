// Links that several transfers are on at a time, each with its fair share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/quantity.h"

namespace dovetail::simulate {

/// Bytes on their way over some links, all of them at once.
struct Transfer {
  std::vector<int> links;  ///< at least one, none twice
  base::Ticks alone;       ///< ns that it takes where nothing else is on its links
  std::int64_t bytes = 0;
};

/// [transfer] what part of the speed it has alone, for all of `transfers` at once: max-min fair (Bertsekas and Gallager, Data Networks,
/// section 6.5.2). A link's transfers have equal parts of it, but for those that another link holds back to less; what these leave is the
/// others'. So no transfer could have more without one that has no more than it having less. Links of equal parts go in the order of their
/// numbers. REQUIRES: links are below `links`.
std::vector<double> fair_shares(const std::vector<const Transfer*>& transfers, int links);

/// Transfers that are under way, as time goes by.
class Traffic {
 public:
  explicit Traffic(int links) : links_(links) {}

  /// `transfer` begins now; it must outlive its way. `name` says which has arrived. REQUIRES: it takes time.
  void begin(const Transfer& transfer, std::size_t name);
  bool empty() const { return ways_.empty(); }
  /// When the next of them arrives, in whole ns, rounded up. REQUIRES: not empty.
  base::Ticks next_arrival();
  /// Goes on to `time`, which is not past next_arrival(): the names of those that have arrived, in the order of their beginning.
  std::vector<std::size_t> advance(base::Ticks time);

 private:
  struct Way {
    const Transfer* transfer = nullptr;
    std::size_t name = 0;
    double left = 0;  // ns alone
    double share = 0;
    base::Ticks arrival;
  };
  void share_out();

  int links_;
  base::Ticks now_;
  std::vector<Way> ways_;
  bool shared_out_ = true;
};

}  // namespace dovetail::simulate
