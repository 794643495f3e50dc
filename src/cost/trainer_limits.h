// What the trainers whose memory cost/conventions.h describes can do with a layout: what a search may give them.
#pragma once

#include <string_view>
#include <vector>

namespace dovetail::cost {

/// Whether a trainer cuts models in a way.
enum class Ability {
  searched,  ///< a search may choose the degree
  pinned,    ///< it can, but only who asks for it gets it
  absent,    ///< it cannot: the degree is 1
};

/// Of training, and of inference that the trainer's own model does.
struct TrainerLimits {
  Ability tensor = Ability::searched;
  Ability pipeline = Ability::searched;
  std::vector<int> zero = {0, 1, 2, 3};  ///< stages that it has where several ranks hold the same
  int searched_zero = 1;                 ///< of these the one that a search gives it
  /// A role that trains and infers is one model in one process group: one mesh and one layout.
  bool one_layout = false;
  bool experts_again = false;  ///< of layers with experts the networks alone may be computed again
};

/// Of the conventions of that name; where it is none of the table's, all that the cost model knows.
const TrainerLimits& trainer_limits(std::string_view conventions);

}  // namespace dovetail::cost
