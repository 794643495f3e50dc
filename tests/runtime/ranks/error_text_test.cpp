#include "runtime/ranks/error_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dovetail::runtime {
namespace {

RC_GTEST_PROP(ErrorText, KeepsAll, (const std::string& path, const std::string& message)) {
  const RankError said{*rc::gen::inRange(0, 70000),
                       {*rc::gen::element(base::Failure::io, base::Failure::bad_input, base::Failure::lost), path,
                        *rc::gen::inRange(0, 99), *rc::gen::inRange(0, 99), message}};
  const RankError heard = error_from_bytes(error_to_bytes(said));
  RC_ASSERT(heard.rank == said.rank);
  RC_ASSERT(heard.error.failure == said.error.failure);
  RC_ASSERT(heard.error.path == path);
  RC_ASSERT(heard.error.line == said.error.line);
  RC_ASSERT(heard.error.column == said.error.column);
  RC_ASSERT(heard.error.message == message);
}

TEST(ErrorText, OtherBytesAreAnError) {
  for (const std::string bytes : {"", "1", "1 2 3 4 ", "1 2 3 4 5 abc", "1 99 3 4 0 x", "-1 2 3 4 0 x", "a b"})
    EXPECT_EQ(error_from_bytes(bytes).error.failure, base::Failure::lost) << bytes;
}

}  // namespace
}  // namespace dovetail::runtime
