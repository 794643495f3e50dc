#include "timeline/lane_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace dovetail::timeline {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(LaneNames, PutNeighboursTogether) {
  EXPECT_EQ(device_ranges({3}), "3");
  EXPECT_EQ(device_ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(device_lane_name({3}), "device 3");
  EXPECT_EQ(device_lane_name({0, 1, 5}), "devices 0-1,5");
}

TEST(LaneNames, TellLinksFromDevices) {
  EXPECT_EQ(host_link_lane_name({0, 1}), "host links 0-1");
  EXPECT_TRUE(is_host_link_lane(host_link_lane_name({4})));
  EXPECT_FALSE(is_host_link_lane(device_lane_name({4})));
}

TEST(LaneNames, NameDevices) {
  EXPECT_THAT(devices_of("device 3"), Optional(ElementsAre(3)));
  EXPECT_THAT(devices_of("devices 0-2,5,7-8"), Optional(ElementsAre(0, 1, 2, 5, 7, 8)));
  for (const std::string name :
       {"", "device", "device ", "device x", "device 0 · compute", "devices 3-1", "devices 1,1", "devices 2,",
        "devices -1", "devices 0-2000000000", "devices 99999999999", "GPU 3", "devices 1-"})
    EXPECT_EQ(devices_of(name), std::nullopt) << name;
}

}  // namespace
}  // namespace dovetail::timeline
