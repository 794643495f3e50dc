#include "answer/question/processes.h"

#include <fmt/core.h>

#include "answer/text/text.h"

namespace dovetail::answer {

void note_idle_processes(const parallel::Exchange& exchange, int chains, const Callbacks& callbacks) {
  if (chains < exchange.ranks)
    notify_note(callbacks, fmt::format("{} processes share {}, so some are idle; use more chains (--chains)",
                                       exchange.ranks, counted(chains, "chain")));
}

}  // namespace dovetail::answer
