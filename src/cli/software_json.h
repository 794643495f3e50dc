// What an answer about plans says of the software that it was predicted with, as JSON.
#pragma once

#include "answer/question/json.h"
#include "cli/output.h"
#include "predict/closed_form/margin.h"

namespace dovetail::cli {

/// Adds `efficiency_reason`, why the job has its efficiencies.
void add_efficiency_reason(const predict::Software& software, answer::Json& object);

/// Adds `verdict` ("fits", "tight", "does not fit") to an object that has `fits`.
void add_verdict(predict::Fit fit, answer::Json& object);

}  // namespace dovetail::cli
