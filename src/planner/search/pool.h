// The best plans that a search has found.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "planner/space/trial.h"

namespace dovetail::planner {

/// Selection with what they cost, and what is fused then.
struct Found {
  Selection selection;
  Score score;

  friend bool operator==(const Found&, const Found&) = default;
};

/// Of plans that fit those with the least periods, the best first; of those with the same meshes and
/// fusions only the best.
class Pool {
 public:
  /// Keeps `most` plans at most. REQUIRES: most > 0.
  explicit Pool(std::size_t most) : most_(most) {}

  /// Takes the selection if it fits and is good enough.
  void add(const Selection& selection, const Score& score);

  const std::vector<Found>& found() const { return found_; }

 private:
  std::size_t most_;
  std::vector<Found> found_;
};

/// The same plans as Trial::exact_score has them, the best first.
std::vector<Found> scored_exactly(Trial& trial, std::vector<Found> found);

/// Puts plans behind a message to other processes (parallel/message.h), and takes them from one.
void put(std::string& message, const std::vector<Found>& found);
std::vector<Found> take_found(std::string_view& message);

}  // namespace dovetail::planner
