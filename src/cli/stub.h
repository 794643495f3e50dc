// dovetail train --stub: a schedule replayed by ranks that wait in place of computing.
#pragma once

#include <optional>
#include <string>

#include "answer/runs/replay.h"
#include "base/result.h"

namespace dovetail::cli {

struct StubArguments {
  answer::ReplayRequest request;  ///< without `launch`
  std::optional<std::string> output;
  bool json = false;
};

/// Replays, prints, and writes the timeline of -o. Gives the exit code.
base::Result<int> run_stub(const StubArguments& arguments);

}  // namespace dovetail::cli
