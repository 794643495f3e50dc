// How the process gets its memory.
#pragma once

namespace dovetail::runtime {

/// Keeps what tensors give back for the next ones of a micro-batch: by default each large one would be given to the
/// system and come back page by page. To be called before there are any.
void keep_freed_memory();

}  // namespace dovetail::runtime
