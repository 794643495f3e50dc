// The published traces of FlexFusion.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::pipeline {

inline constexpr Tolerance tolerance{trace_activation_tolerance};

/// A published trace: its instance, and whether it comes from the memory optimizer.
struct PublishedTrace {
  std::string instance;
  bool optimized = false;
};

inline std::vector<PublishedTrace> published_traces() {
  std::vector<PublishedTrace> traces;
  for (const Instance& instance : instances()) {
    if (!instance.published) continue;
    traces.push_back({instance.name, false});
    if (instance.published->peak_activation_optimized) traces.push_back({instance.name, true});
  }
  return traces;
}

inline std::string read_trace(const PublishedTrace& trace) {
  const std::string name = "trace_" + trace.instance + (trace.optimized ? ".mem-optimized.txt" : ".txt");
  const auto content = base::read_file(std::string(DOVETAIL_SOURCE_DIR) + "/tests/data/flexfusion/" + name);
  EXPECT_TRUE(content.ok()) << name;
  return content.ok() ? *content : "";
}

}  // namespace dovetail::pipeline
