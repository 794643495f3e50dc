#include "base/json_object.h"

#include <gtest/gtest.h>

namespace dovetail::base {
namespace {

TEST(JsonObject, SeparatesItsMembers) {
  JsonObject object;
  EXPECT_TRUE(object.empty());
  EXPECT_EQ(object.text(), "{}");
  object.add("a", "1");
  object.add("b", "[2, 3]");
  EXPECT_FALSE(object.empty());
  EXPECT_EQ(object.members(), R"("a": 1, "b": [2, 3])");
  EXPECT_EQ(object.text(), R"({"a": 1, "b": [2, 3]})");
}

}  // namespace
}  // namespace dovetail::base
