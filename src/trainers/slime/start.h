// What stops slime before its first step (slime/utils/arguments.py, train_async.py, and what Megatron-LM's and SGLang's
// arguments are checked for), beside sizes that do not divide the devices, and what it starts that is no run of a job.
#pragma once

#include "base/result.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

/// Whether a setting is there: of a switch, whether it is on.
base::Result<bool> is_given(const syntax::SettingTree& tree, std::string_view key);

/// An Error at the flag for which slime would stop, or that makes it train or generate alone; `async` is of
/// train_async.py.
base::Status check_slime_start(const syntax::SettingTree& tree, bool async);

}  // namespace dovetail::trainers
