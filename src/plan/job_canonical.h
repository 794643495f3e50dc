// The hash of a job: what tells plans of one job from those of another.
#pragma once

#include <string>

#include "plan/job.h"

namespace dovetail::plan {

/// All of a job that plans and predictions hang on as canonical JSON (canonical_json.h), whatever the file said it
/// with: amounts in bytes, bytes/s, FLOP/s, seconds and ns, lengths as points, models as shapes, nodes that are alike
/// and follow each other as one group, defaults filled in. Names that nothing is found by are not in it: those of the
/// job, the algorithm, the models and the networks. docs/formats.md has all members.
std::string canonical_job(const Job& job);

/// The SHA-256 of canonical_job.
std::string job_hash(const Job& job);

}  // namespace dovetail::plan
