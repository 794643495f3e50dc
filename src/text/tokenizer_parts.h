// How the parts of a tokenizer.json are read: each is a map with a `type`; a Sequence has others in it.
#pragma once

#include <functional>
#include <string_view>

#include "base/document.h"
#include "base/result.h"

namespace dovetail::text {

/// The `type` of a part, `what` in messages ("a normalizer"); empty where it is no text.
base::Result<std::string_view> type_of(const base::Node& part, std::string_view what);

/// An Error at the part's type, of a kind that is not known here.
base::Error unknown_type(const base::Node& part, std::string_view what, std::string_view accepted);

/// Calls `read` with each item of the list `key` of a Sequence, and stops at its first Error.
base::Status for_each_part(const base::Node& sequence, std::string_view key,
                           const std::function<base::Status(const base::Node&)>& read);

/// Gives `value` what the map says under `key`, where it says something.
base::Status read_flag(const base::Node& map, std::string_view key, bool& value);

/// How deep sequences may stand in sequences.
inline constexpr int max_depth = 8;

}  // namespace dovetail::text
