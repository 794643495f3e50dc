
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuse/bounds/bounds.h"
#include "pipeline/formats/schedule_file.h"

namespace dovetail::fuse {
namespace {

using testing::IsEmpty;

/// One model on one device, with a gap of 1 between its ops: makespan 4, proven bound 3; peak 1, proven bound 1.
class DisputedClaims : public testing::Test {
 protected:
  std::vector<DisputedClaim> disputed() const {
    return check_claims(schedule_, pipeline::evaluate(schedule_).evaluation, bounds_of(schedule_.problem).makespan,
                        base::Memory(1'000'000));
  }
  /// Returns the claims with their verdicts, such as "refuted bounds.makespan".
  std::vector<std::string> verdicts() const {
    std::vector<std::string> texts;
    for (const DisputedClaim& claim : disputed())
      texts.push_back((claim.refuted ? "refuted " : "unconfirmed ") + claim.key);
    return texts;
  }

  pipeline::Schedule schedule_ = pipeline::parse_schedule(R"({"format": "dovetail/schedule@1", "time_unit": "tick",
    "problem": {"format": "dovetail/pipeline-problem@1", "time_unit": "tick", "devices": 1,
                "models": [{"name": "a", "microbatches": 1, "devices": [0], "forward": 1, "backward": 2, "activation": 1}]},
    "columns": ["op", "model", "replica", "stage", "microbatch", "start", "end"],
    "devices": [[["F", 0, 0, 0, 0, 0, 1], ["B", 0, 0, 0, 0, 2, 4]]]})",
                                                          "s.json")
                                     .value()
                                     .schedule;
};

TEST_F(DisputedClaims, AreEmptyWithoutClaims) { EXPECT_THAT(disputed(), IsEmpty()); }

TEST_F(DisputedClaims, ABoundAboveTheScheduleIsFalse) {
  schedule_.claims.bound_makespan = base::Ticks(5);
  schedule_.claims.bound_peak_activation = base::Memory(1'000'001);
  EXPECT_THAT(verdicts(), testing::ElementsAre("refuted bounds.makespan", "refuted bounds.peak_activation"));
  EXPECT_EQ(disputed()[0].reason, "5 is above this schedule's 4");
}

TEST_F(DisputedClaims, ABoundAboveTheProvenOneMayBeTrue) {
  schedule_.claims.bound_makespan = base::Ticks(4);
  EXPECT_THAT(verdicts(), testing::ElementsAre("unconfirmed bounds.makespan"));
}

TEST_F(DisputedClaims, ABoundUpToTheProvenOneIsTrue) {
  for (const int bound : {0, 2, 3}) {
    schedule_.claims.bound_makespan = base::Ticks(bound);
    EXPECT_THAT(disputed(), IsEmpty()) << bound;
  }
}

TEST_F(DisputedClaims, OptimalMustMatchTheFilesBound) {
  schedule_.claims.bound_makespan = base::Ticks(3);
  schedule_.claims.optimal_makespan = false;
  EXPECT_THAT(disputed(), IsEmpty());
  schedule_.claims.optimal_makespan = true;
  EXPECT_THAT(verdicts(), testing::ElementsAre("refuted optimal.makespan"));
  EXPECT_EQ(disputed()[0].reason, "true, but the schedule's 4 does not equal the file's bound 3");
  schedule_.claims.bound_peak_activation = base::Memory(1'000'000);
  schedule_.claims.optimal_peak_activation = false;
  EXPECT_THAT(verdicts(), testing::ElementsAre("refuted optimal.makespan", "refuted optimal.peak_activation"));
}

TEST_F(DisputedClaims, OptimalWithoutABoundIsConfirmedByTheProvenOne) {
  schedule_.claims.optimal_makespan = true;
  schedule_.claims.optimal_peak_activation = true;
  EXPECT_THAT(verdicts(), testing::ElementsAre("unconfirmed optimal.makespan"));
  schedule_.claims.optimal_makespan = false;
  schedule_.claims.optimal_peak_activation = false;
  EXPECT_THAT(verdicts(), testing::ElementsAre("refuted optimal.peak_activation"));
}

}  // namespace
}  // namespace dovetail::fuse
