// What part of their links several transfers have, each its fair share.
//
// Transfers on their way, each with its fair share of its links, as time goes by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/quantity.h"

namespace dovetail::simulate {

/// Bytes on their way over some links, all of them at once.
struct Transfer {
  std::vector<int> links;  ///< at least one, none twice
  base::Ticks alone;       ///< ns that it takes where nothing else is on its links
  std::int64_t bytes = 0;

  bool operator==(const Transfer&) const = default;
};

/// [transfer] what part of the speed it has alone, for all of `transfers` at once: max-min fair (Bertsekas and
/// Gallager, Data Networks, section 6.5.2). A link's transfers have equal parts of it, but for those that another link
/// holds back to less; what these leave is the others'. So no transfer could have more without one that has no more
/// than it having less. Links of equal parts go in the order of their numbers.
std::vector<double> fair_shares(const std::vector<const Transfer*>& transfers);

/// How transfers that began together went, where no other joined them. The weights of a plan go the same way in every
/// iteration, draw and at every threshold: it is worked out once.
class Courses {
 public:
  struct Arrival {
    base::Ticks after;  ///< the beginning
    std::size_t transfer = 0;
  };
  struct Course {
    std::vector<Transfer> transfers;
    std::vector<Arrival> arrivals;  ///< in their order
  };

  /// That of the same transfers in the same order; null where none is known. It stays where it is.
  const Course* find(const std::vector<const Transfer*>& transfers) const;
  /// REQUIRES: none of the same transfers is known.
  void add(const std::vector<const Transfer*>& transfers, std::vector<Arrival> arrivals);

 private:
  std::unordered_multimap<std::size_t, Course> known_;  // by a hash of the transfers
};

/// Transfers that are under way, as time goes by. When one begins or arrives, shares are made anew for those alone that
/// it is connected with, link by link: nobody else's change. Of more than `exact_count` transfers, what one leaves when
/// it arrives lies idle until a part of 1 / `exact_count` of them has arrived, or the time since the first of them
/// began has grown by that part, whichever comes first: thousands of transfers that all differ by a little would else
/// be shared out thousands of times. It makes them later, by about that part.
class Traffic {
 public:
  static constexpr std::size_t exact_count = 50;

  /// Transfers have links below `links`. `courses` has what is known of more than `exact_count` of them, and gets what
  /// is found out; null: nothing is known. It changes no arrival.
  explicit Traffic(int links, Courses* courses = nullptr) : courses_(courses), on_(static_cast<std::size_t>(links)) {}

  /// `transfer` begins now; it must outlive its way. `name` says which has arrived. REQUIRES: it takes time.
  void begin(const Transfer& transfer, std::size_t name);
  bool empty() const { return under_way_ == 0; }
  /// When the next of them arrives, in whole ns, rounded up; or before that, when shares are made anew. REQUIRES: not
  /// empty.
  base::Ticks next_arrival();
  /// Goes on to `time`, which is not past next_arrival(): the names of those that have arrived, in the order of their
  /// beginning.
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
  /// When a way arrives by the share that it had when this was noted.
  struct Due {
    base::Ticks time;
    std::size_t way = 0;

    bool operator>(const Due& other) const { return time != other.time ? time > other.time : way > other.way; }
  };

  std::vector<const Transfer*> transfers() const;
  void set_out();
  void leave_course();
  void join_all();
  void join(std::size_t index);
  base::Ticks due() const;
  bool must_share() const;
  void share_out();
  std::vector<std::size_t> connected();
  void give(std::size_t index, double share);
  bool is_outdated(const Due& due) const { return ways_[due.way].arrival != due.time; }
  const Due* first_due();
  void arrive(std::size_t index);
  std::vector<std::size_t> arrived();

  base::Ticks now_;
  base::Ticks started_;    // when the first of `ways_` began
  std::vector<Way> ways_;  // by their beginning, with those that have arrived until none is under way
  std::size_t under_way_ = 0;

  Courses* courses_;
  bool gathering_ = false;                   // all of `ways_` began just now
  const Courses::Course* course_ = nullptr;  // that `ways_` take; what is below then knows nothing of them
  std::size_t next_ = 0;                     // of its arrivals
  bool kept_ = false;                        // whether `ways_` are to be a course
  std::vector<Courses::Arrival> arrivals_;   // of that

  bool begun_ = false;                        // whether any has no share yet
  std::size_t left_ = 0;                      // how many have arrived since shares were made
  base::Ticks first_left_;                    // when the first of them did
  std::vector<std::vector<std::size_t>> on_;  // [link] ways that are under way
  std::vector<int> changed_;                  // links whose ways are others than those that have shares
  std::vector<Due> later_;                    // heap, the earliest first; with outdated ones
};

}  // namespace dovetail::simulate
