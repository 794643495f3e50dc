#include "runtime/ranks/rank_note.h"

#include <gtest/gtest.h>

namespace dovetail::runtime {
namespace {

TEST(RankNote, ComesBackFromItsBytes) {
  for (const RankNote& note : {RankNote{}, RankNote{"actor_train of iteration 3", 5'000'000'000}, RankNote{"", 0}})
    EXPECT_EQ(note_from_bytes(note_to_bytes(note)), note);
}

TEST(RankNote, OfOtherBytesIsThatOfARankWhichSaidNothing) {
  for (const char* const bytes : {"", "12", "x the start", "99999999999999999999 the start"})
    EXPECT_EQ(note_from_bytes(bytes), RankNote{});
}

TEST(RankNote, ThePhaseIsSaidOfLostRanksAlone) {
  EXPECT_EQ(in_phase("the replay", {base::Failure::lost, "", 0, 0, "rank 1 is lost"}).message,
            "in the replay: rank 1 is lost");
  EXPECT_EQ(in_phase("the replay", {base::Failure::bad_input, "", 0, 0, "no"}).message, "no");
}

TEST(RankNote, ARankWithoutStoreIsNamed) {
  EXPECT_EQ(without_store(2, "the start", {base::Failure::lost, "", 0, 0, "the store does not answer"}).message,
            "in the start: rank 2 ends: the store does not answer");
  EXPECT_EQ(without_store(2, "the start", {base::Failure::bad_input, "", 0, 0, "the port is taken"}).message,
            "the port is taken");
}

}  // namespace
}  // namespace dovetail::runtime
