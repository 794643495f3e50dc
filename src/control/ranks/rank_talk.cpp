#include "control/ranks/rank_talk.h"

#include <utility>

#include "control/ranks/rank_messages.h"
#include "transport/exchange.h"

namespace dovetail::control {

using base::Result;

Result<std::vector<std::string>> RankTalk::exchange(std::string own) {
  own.push_back(parallel::is_requested(local_) ? 1 : 0);
  DOVETAIL_TRY(std::vector<std::string> said,
               transport::exchange(transport_, take_number(), std::move(own), transport::Clock::now() + timeout_));
  for (std::string& text : said) {
    if (text.back() == 1) agreed_.request();
    text.pop_back();
  }
  return said;
}

Result<std::string> RankTalk::hear_first(std::string own) {
  DOVETAIL_TRY(std::vector<std::string> said, exchange(rank() == 0 ? std::move(own) : std::string()));
  return std::move(said.front());
}

base::Status RankTalk::agree(const base::Status& own) {
  DOVETAIL_TRY(const std::vector<std::string> said, exchange(own.ok() ? std::string() : encode(own.error())));
  for (const std::string& text : said)
    if (!text.empty()) return decode_error(text);
  return {};
}

}  // namespace dovetail::control
