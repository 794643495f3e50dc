// What ranks of a run tell each other, as bytes (CBOR, RFC 8949). They come from ranks of the same program: others are
// a mistake of ours.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/models.h"
#include "execute/op_medians.h"

namespace dovetail::control {

/// What a rank found of some things, each with its place among all of them.
template <class Found>
using Places = std::vector<std::pair<std::size_t, Found>>;

std::string encode(const Places<GeneratedResponse>& responses);
Places<GeneratedResponse> decode_responses(const std::string& bytes);

std::string encode(const Places<Scores>& scores);
Places<Scores> decode_scores(const std::string& bytes);

std::string encode(const RankUsage& usage);
RankUsage decode_usage(const std::string& bytes);

std::string encode(const execute::OpMedians& medians);
execute::OpMedians decode_medians(const std::string& bytes);

std::string encode(const base::Error& error);
base::Error decode_error(const std::string& bytes);

std::string encode(const base::Result<std::vector<double>>& numbers);
base::Result<std::vector<double>> decode_numbers(const std::string& bytes);

}  // namespace dovetail::control
