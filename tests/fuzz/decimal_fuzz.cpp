// Parses decimals of every unit. Checks that values are in range, and that the shortest decimal reads back to the same
// value.
#include "base/quantity.h"
#include "fuzz.h"

namespace base = dovetail::base;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = dovetail::fuzz::as_text(data, size);
  for (const auto unit :
       {base::TimeUnit::tick, base::TimeUnit::s, base::TimeUnit::ms, base::TimeUnit::us, base::TimeUnit::ns}) {
    const auto rounded = base::parse_time(text, unit, base::ExcessDigits::round_half_up);
    const auto exact = base::parse_time(text, unit, base::ExcessDigits::refuse);
    const bool agree = !exact.ok() || (rounded.ok() && *rounded == *exact);
    DOVETAIL_ASSERT(agree);
    if (!rounded.ok()) continue;
    DOVETAIL_ASSERT(*rounded >= base::Ticks(0) && *rounded <= base::Ticks(base::max_time));
    const auto again = base::parse_time(base::format_time(*rounded, unit), unit, base::ExcessDigits::refuse);
    DOVETAIL_ASSERT(again.ok() && *again == *rounded);
  }
  const auto memory = base::parse_memory(text);
  if (!memory.ok()) return 0;
  const auto again = base::parse_memory(base::format_memory(*memory));
  DOVETAIL_ASSERT(again.ok() && *again == *memory);
  return 0;
}
