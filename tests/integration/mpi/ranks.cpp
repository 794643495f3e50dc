// One process of a group that mpi_test.py starts with mpirun. Prints what it received, one line per rank.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/exchange.h"

namespace parallel = dovetail::parallel;

namespace {

int print_error(const dovetail::base::Error& error) {
  std::printf("error: %s\n", to_text(error).c_str());
  std::fflush(stdout);
  return 1;
}

/// Returns rank r's message in a round: empty, a few bytes, or more than one collective carries; different in every
/// round.
std::string message_of(int rank, int round) {
  const std::size_t sizes[] = {0, 5, 9'000'001, 1'000};
  std::string message(sizes[(rank + round) % 4], '\0');
  for (std::size_t i = 0; i < message.size(); ++i)
    message[i] = static_cast<char>(i * 31 + static_cast<std::size_t>(rank * 7 + round));
  return message;
}

int gather(const parallel::Exchange& exchange) {
  for (int round = 0; round < 6; ++round) {
    const auto messages = exchange.all_gather(message_of(exchange.rank, round));
    if (!messages.ok()) return print_error(messages.error());
    if (messages->size() != static_cast<std::size_t>(exchange.ranks)) return 3;
    for (int rank = 0; rank < exchange.ranks; ++rank)
      if ((*messages)[static_cast<std::size_t>(rank)] != message_of(rank, round)) return 4;
  }
  std::printf("rank %d of %d agrees\n", exchange.rank, exchange.ranks);
  return 0;
}

/// All ranks exchange once. Then the last one does what `fate` says, and the others continue and detect it.
int lose_the_last(const parallel::Exchange& exchange, std::string_view fate) {
  if (const auto first = exchange.all_gather("here"); !first.ok()) return print_error(first.error());
  if (exchange.rank == exchange.ranks - 1) {
    if (fate == "stops") std::raise(SIGSTOP);
    if (fate == "sleeps") ::sleep(1000);
    if (fate == "dies") std::raise(SIGKILL);
    if (fate == "returns") return 0;
  }
  const auto second = exchange.all_gather("still here");
  if (second.ok()) return 5;
  const auto third = exchange.all_gather("again");
  if (third.ok() || third.error().message != second.error().message) return 6;
  return print_error(second.error());
}

}  // namespace

/// ranks FATE TIMEOUT_SECONDS
int main(int argument_count, char** arguments) {
  if (argument_count != 3) return 2;
  const std::string_view fate = arguments[1];
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (fate == "never-connects" && rank != nullptr && std::string_view(rank) == "0") {
    ::sleep(1000);
    return 0;
  }
  const auto exchange = parallel::connect_by_mpi(std::atof(arguments[2]));
  if (!exchange.ok()) return print_error(exchange.error());
  const auto again = parallel::connect_by_mpi(std::atof(arguments[2]));
  if (!again.ok() || again->rank != exchange->rank || again->ranks != exchange->ranks) return 7;
  return fate == "agrees" ? gather(*exchange) : lose_the_last(*exchange, fate);
}
