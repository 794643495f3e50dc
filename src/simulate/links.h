// Links that several transfers are on at a time, each with its fair share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
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
/// numbers.
std::vector<double> fair_shares(const std::vector<const Transfer*>& transfers);

/// Transfers that are under way, as time goes by. When one begins or arrives, shares are made anew for those alone that it is connected
/// with, link by link: nobody else's change. Of more than `exact_count` transfers, what one leaves when it arrives lies idle until a
/// part of 1 / `exact_count` of them has arrived, or the time since the first of them began has grown by that part, whichever comes first:
/// thousands of transfers that all differ by a little would else be shared out thousands of times. It makes them later, by about that part.
class Traffic {
 public:
  static constexpr std::size_t exact_count = 50;

  /// Transfers have links below `links`.
  explicit Traffic(int links) : on_(static_cast<std::size_t>(links)) {}

  /// `transfer` begins now; it must outlive its way. `name` says which has arrived. REQUIRES: it takes time.
  void begin(const Transfer& transfer, std::size_t name);
  bool empty() const { return under_way_ == 0; }
  /// When the next of them arrives, in whole ns, rounded up; or before that, when shares are made anew. REQUIRES: not empty.
  base::Ticks next_arrival();
  /// Goes on to `time`, which is not past next_arrival(): the names of those that have arrived, in the order of their beginning.
  std::vector<std::size_t> advance(base::Ticks time);

 private:
  struct Way {
    const Transfer* transfer = nullptr;
    std::size_t name = 0;
    double left = 0;  // ns alone, at `since`
    base::Ticks since;
    double share = 0;
    base::Ticks arrival;
  };
  base::Ticks due() const;
  bool must_share() const;
  void share_out();
  std::vector<std::size_t> connected();
  void give(std::size_t index, double share);
  void leave(std::size_t index);

  base::Ticks now_;
  base::Ticks started_;     // when the first of `ways_` began
  bool begun_ = false;      // whether any has no share yet
  std::size_t left_ = 0;    // how many have arrived since shares were made
  base::Ticks first_left_;  // when the first of them did
  std::vector<Way> ways_;   // by their beginning, with those that have arrived until none is under way
  std::size_t under_way_ = 0;
  std::vector<std::vector<std::size_t>> on_;             // [link] ways that are under way
  std::vector<int> changed_;                             // links whose ways are others than those that have shares
  std::set<std::pair<base::Ticks, std::size_t>> later_;  // arrivals of ways that have shares
};

}  // namespace dovetail::simulate
