// The kinds of work of a trace, which are guessed from the names of its slices. Private to report.
#pragma once

#include "report/page/page.h"

namespace dovetail::report {

/// `guessed` with the categories of `known` wherever they say what a bar is: of a bar that has a title of `known` the category that this
/// title has there, of idle time the one whose name begins its title ("dependency" of "dependency on reward_infer"). The fields that such
/// titles are made of come with them. Categories that no bar has any more are left out, those that are of `guessed` alone have colours that
/// `known` does not have, as long as there are any.
Chart with_kinds_of(const Chart& guessed, const Chart& known);

}  // namespace dovetail::report
