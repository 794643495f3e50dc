#include "answer/question/processes.h"

#include <fmt/core.h>

#include "answer/words/text.h"

namespace dovetail::answer {

void note_idle_processes(const parallel::Exchange& exchange, int chains, const Watch& watch) {
  if (chains < exchange.ranks)
    tell_note(watch, fmt::format("{} processes share {}, so some are idle; use more chains (--chains)", exchange.ranks,
                                 counted(chains, "chain")));
}

}  // namespace dovetail::answer
