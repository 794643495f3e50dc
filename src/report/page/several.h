// Several pages as one.
#pragma once

#include <vector>

#include "report/page/page.h"

namespace dovetail::report {

/// One page with a table of all figures first, then each page's sections, their titles behind the page's own. REQUIRES:
/// at least one.
Page join_pages(std::vector<Page> pages);

}  // namespace dovetail::report
