// Parses safetensors files. Checks that tensors are contiguous within the file, with the sizes of their shapes.
#include "fuzz.h"
#include "weights/safetensors.h"

namespace weights = dovetail::weights;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto content = weights::parse_safetensors(std::as_bytes(std::span(data, size)), "file");
  if (!content.ok()) {
    DOVETAIL_ASSERT(!content.error().message.empty());
    return 0;
  }
  std::size_t bytes = 0;
  for (const weights::StoredTensor& tensor : content->tensors) {
    DOVETAIL_ASSERT(tensor.elements() * weights::bytes_of(tensor.type) ==
                    static_cast<std::int64_t>(tensor.bytes.size()));
    bytes += tensor.bytes.size();
  }
  DOVETAIL_ASSERT(bytes <= size);
  return 0;
}
