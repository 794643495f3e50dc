// Plans that run alike: a trainer's configuration says nothing of some of their members.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"

namespace dovetail::trainers {

/// Whether both run the tasks of the job in the same way: members that change nothing may differ.
bool run_alike(const plan::Job& job, const plan::Plan& a, const plan::Plan& b);

/// An Error that says which tasks differ: what they would have, and what they get.
base::Error cannot_be_said(std::string_view trainer, const plan::Job& job, const plan::Plan& wanted,
                           const plan::Plan& got);

/// In what the job that a configuration says is another one, whatever trains it: "other batches"; nothing where it is
/// none.
std::optional<std::string> difference_of(const plan::Job& wanted, const plan::Job& got);

}  // namespace dovetail::trainers
