#include "parallel/agreement.h"

#include <fmt/format.h>

#include <cstddef>
#include <vector>

namespace dovetail::parallel {
namespace {

/// What a process says of its input: a letter, for no failure or the kind of one, and the input or what is wrong with
/// it.
constexpr char no_failure = '-';
constexpr char first_failure = 'A';

std::string message_of(const base::Result<std::string>& input) {
  if (input.ok()) return no_failure + *input;
  return static_cast<char>(first_failure + static_cast<int>(input.error().failure)) + to_text(input.error());
}

}  // namespace

base::Status agree_on_input(const Exchange& exchange, const base::Result<std::string>& input,
                            std::string_view another) {
  DOVETAIL_TRY(const std::vector<std::string> messages, exchange.all_gather(message_of(input)));
  // What the first process has to say it says as if it were alone.
  if (exchange.rank == 0 && !input.ok()) return input.error();
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    const std::string_view message = messages[rank];
    if (message[0] != no_failure)
      return base::Error{static_cast<base::Failure>(message[0] - first_failure),
                         {},
                         0,
                         0,
                         fmt::format("rank {}: {}", rank, message.substr(1))};
  }
  for (std::size_t rank = 1; rank < messages.size(); ++rank)
    if (messages[rank] != messages[0])
      return base::bad_input(fmt::format("rank {} reads {} than rank 0; all have to read the same", rank, another));
  return {};
}

}  // namespace dovetail::parallel
