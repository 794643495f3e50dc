#include "runtime/ranks/rank_note.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace dovetail::runtime {
namespace {

TEST(RankNote, RoundTrips) {
  for (const RankNote& note : {RankNote{}, RankNote{"actor_train of iteration 3", 5'000'000'000}, RankNote{"", 0}})
    EXPECT_EQ(note_from_bytes(note_to_bytes(note)), note);
}

TEST(RankNote, MalformedBytesYieldADefaultNote) {
  for (const char* const bytes : {"", "12", "x the start", "99999999999999999999 the start"})
    EXPECT_EQ(note_from_bytes(bytes), RankNote{});
}

TEST(RankNote, OnlyLostRankErrorsNameThePhase) {
  EXPECT_EQ(in_phase("the replay", {base::Failure::lost, "", 0, 0, "rank 1 is lost"}).message,
            "in the replay: rank 1 is lost");
  EXPECT_EQ(in_phase("the replay", {base::Failure::bad_input, "", 0, 0, "no"}).message, "no");
}

TEST(RankNote, ARankWithoutStoreIsNamed) {
  EXPECT_EQ(without_store(2, "startup", {base::Failure::lost, "", 0, 0, "the store does not answer"}).message,
            "in startup: rank 2 ends: the store does not answer");
  EXPECT_EQ(without_store(2, "startup", {base::Failure::bad_input, "", 0, 0, "the port is taken"}).message,
            "the port is taken");
}

RC_GTEST_PROP(ErrorText, RoundTrips, (const std::string& path, const std::string& message)) {
  const RankError original{*rc::gen::inRange(0, 70000),
                           {*rc::gen::element(base::Failure::io, base::Failure::bad_input, base::Failure::lost), path,
                            *rc::gen::inRange(0, 99), *rc::gen::inRange(0, 99), message}};
  const RankError decoded = error_from_bytes(error_to_bytes(original));
  RC_ASSERT(decoded.rank == original.rank);
  RC_ASSERT(decoded.error.failure == original.error.failure);
  RC_ASSERT(decoded.error.path == path);
  RC_ASSERT(decoded.error.line == original.error.line);
  RC_ASSERT(decoded.error.column == original.error.column);
  RC_ASSERT(decoded.error.message == message);
}

TEST(ErrorText, MalformedBytesAreAnError) {
  for (const std::string bytes : {"", "1", "1 2 3 4 ", "1 2 3 4 5 abc", "1 99 3 4 0 x", "-1 2 3 4 0 x", "a b"})
    EXPECT_EQ(error_from_bytes(bytes).error.failure, base::Failure::lost) << bytes;
}

}  // namespace

}  // namespace dovetail::runtime
