// Jobs as whole launch scripts of slime (docs/trainer-slime.md).
#pragma once

#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

/// A file of the job; an Error where slime does not run it, or not without settings that only its users know.
base::Result<WholeFile> slime_whole(const JobFacts& facts);

}  // namespace dovetail::trainers
