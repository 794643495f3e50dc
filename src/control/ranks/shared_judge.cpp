#include "control/ranks/shared_judge.h"

#include <string>
#include <utility>

#include "control/ranks/rank_messages.h"

namespace dovetail::control {

Judge shared_judge(Judge own, RankTalk& talk) {
  return [own = std::move(own), &talk](std::span<const Response> responses,
                                       const parallel::Cancellation*) -> base::Result<std::vector<double>> {
    DOVETAIL_TRY(const std::string said,
                 talk.hear_first(talk.rank() == 0 ? encode(own(responses, talk.local())) : std::string()));
    return decode_numbers(said);
  };
}

}  // namespace dovetail::control
