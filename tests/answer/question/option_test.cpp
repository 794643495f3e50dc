#include "answer/question/option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "answer/plans/fit.h"

namespace dovetail::answer {
namespace {

using testing::ElementsAre;
using testing::IsTrue;

/// Names of a request's options, with those of its groups in place.
template <class Request>
std::vector<std::string> names_of_options() {
  std::vector<std::string> names;
  for_each_option<Request>([&names](const auto& option) {
    using Kind = std::remove_cvref_t<decltype(option.kind)>;
    using Value = std::remove_cvref_t<decltype(std::declval<Request&>().*(option.member))>;
    if constexpr (std::is_same_v<Kind, OptionGroup>)
      for (std::string& name : names_of_options<Value>()) names.push_back(std::move(name));
    else
      names.emplace_back(option.name);
  });
  return names;
}

TEST(Option, ListsOptionsAndGroupsInOrder) {
  EXPECT_THAT(names_of_options<FitRequest>(),
              ElementsAre("JOB", "plan", "means", "chains", "iterations", "time-limit", "threads", "seed"));
}

TEST(Option, EachHasAHelpText) {
  for_each_option<SearchBudget>([](const auto& option) { EXPECT_THAT(!option.help.empty(), IsTrue()) << option.name; });
}

}  // namespace
}  // namespace dovetail::answer
