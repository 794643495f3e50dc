#include "report/page/inks.h"

#include <gtest/gtest.h>

#include <vector>

#include "report/color_difference.h"

namespace dovetail::report {
namespace {

constexpr std::size_t idle_causes = 7;
constexpr std::size_t services = 4;
constexpr std::size_t roles = 4;

/// All that stands beside each other on the page of an iteration; forward and backward of each role last.
std::vector<Ink> inks_of_an_iteration() {
  std::vector<Ink> inks;
  for (std::size_t cause = 0; cause < idle_causes; ++cause) inks.push_back(idle_ink(cause));
  for (std::size_t kind = 0; kind < services; ++kind) inks.push_back(service_ink(kind));
  for (std::size_t role = 0; role < roles; ++role) {
    inks.push_back(plain_ink(role));
    inks.push_back(plain_ink(role + 8));
  }
  return inks;
}

/// A difference of 2 is just noticed by those who see the two beside each other.
constexpr double told_apart = 13;

TEST(Inks, OfIdleTimeAndServicesAreToldApartOnBothGrounds) {
  const std::vector<Ink> inks = inks_of_an_iteration();
  for (std::size_t a = 0; a < idle_causes + services; ++a) {
    for (std::size_t b = a + 1; b < inks.size(); ++b) {
      EXPECT_GT(min_difference(inks[a].light, inks[b].light), told_apart) << a << " and " << b << " on a light ground";
      EXPECT_GT(min_difference(inks[a].dark, inks[b].dark), told_apart) << a << " and " << b << " on a dark ground";
    }
  }
}

TEST(Inks, StandOutFromTheGround) {
  std::vector<Ink> inks = inks_of_an_iteration();
  inks.resize(idle_causes + services);
  for (const Ink& ink : inks) {
    EXPECT_GT(min_difference(ink.light, {0xFF, 0xFF, 0xFF}), told_apart) << hex(ink.light);
    EXPECT_GT(min_difference(ink.dark, {0x14, 0x1A, 0x23}), told_apart) << hex(ink.dark);
  }
}

TEST(Inks, Repeat) {
  EXPECT_EQ(idle_ink(idle_causes).light, idle_ink(0).light);
  EXPECT_EQ(service_ink(services).dark, service_ink(0).dark);
}

}  // namespace
}  // namespace dovetail::report
