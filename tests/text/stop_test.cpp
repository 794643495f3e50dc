#include "text/stop.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dovetail::text {
namespace {

/// Returns the length of the text before its first stop, by brute force.
std::optional<std::size_t> by_search(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::size_t> begin;
    for (const std::string& stop : stops)
      if (!stop.empty() && stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0)
        begin = std::min(begin.value_or(end), end - stop.size());
    if (begin) return begin;
  }
  return std::nullopt;
}

RC_GTEST_PROP(StopFinder, FindsTheFirstStopAcrossTokens, ()) {
  const auto letters = rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab.")));
  const std::string text = *letters;
  const std::vector<std::string> stops = *rc::gen::container<std::vector<std::string>>(letters);
  StopFinder finder(stops);
  std::optional<std::size_t> found;
  for (std::size_t begin = 0; begin < text.size() && !found;) {
    const std::size_t length = *rc::gen::inRange<std::size_t>(1, 4);
    RC_ASSERT(!finder.add(""));
    found = finder.add(std::string_view(text).substr(begin, length));
    begin += length;
  }
  RC_ASSERT(found == by_search(text, stops));
}

TEST(StopFinder, KeepsOnlyATail) {
  StopFinder finder({"end"});
  for (int token = 0; token < 1000; ++token) EXPECT_EQ(finder.add("aaaaaaaaen"), std::nullopt);
  EXPECT_EQ(finder.add("d"), 9998U);
}

}  // namespace
}  // namespace dovetail::text
