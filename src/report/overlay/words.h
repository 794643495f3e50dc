// Times of an overlay as its tables and notes say them. Private to report.
#pragma once

#include <string>

#include "base/quantity.h"

namespace dovetail::report {

/// "12.3 s" where ticks are ns, in three digits or so: a bar says exactly what it takes. Exactly in other units: "225
/// ticks".
std::string brief_time(base::Ticks time, base::TimeUnit unit);

/// With its sign: "+12.3 s", "-3 ticks", "0 ticks".
std::string signed_time(base::Ticks change, base::TimeUnit unit);

/// "+1.2 s (+3.4%)".
std::string change_text(base::Ticks from, base::Ticks to, base::TimeUnit unit);

}  // namespace dovetail::report
