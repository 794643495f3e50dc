// Categories of bars that only have names. Private to report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/page/legend.h"

namespace dovetail::report {

/// Bars of a timeline that only have names, grouped: alike but for numbers in their names, and alike in being idle.
class NamedGroups {
 public:
  explicit NamedGroups(const timeline::Timeline& timeline);

  /// Adds the categories of the groups with the most time; the others share the last ones. Their colours are none of
  /// `categories`.
  void add_categories(std::vector<Category>& categories);
  /// REQUIRES: add_categories was called.
  std::int32_t category_of(const timeline::Bar& bar) const;

 private:
  struct Group {
    std::string name;
    bool idle = false;
    base::Ticks time;
    bool one_name = true;
    std::int32_t first_name = -1;
    std::int32_t category = -1;
  };

  void add(const timeline::Bar& bar);
  void share_rest(std::vector<Category>& categories, Category rest);

  const timeline::Timeline& timeline_;
  std::vector<Group> groups_;
  std::map<std::pair<std::string, bool>, std::size_t> number_;     // by (pattern, idle)
  std::map<std::pair<std::int32_t, bool>, std::size_t> group_of_;  // by (name, idle)
};

}  // namespace dovetail::report
