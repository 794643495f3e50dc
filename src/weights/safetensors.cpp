#include "weights/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "base/document.h"
#include "base/file.h"
#include "base/utf8.h"

namespace dovetail::weights {
namespace {

using base::Node;
using base::Result;

constexpr std::size_t length_bytes = 8;
/// Limit of the safetensors library.
constexpr std::uint64_t max_header = 100'000'000;
constexpr std::int64_t max_dimension = std::int64_t{1} << 40;
constexpr std::int64_t max_bytes = std::int64_t{1} << 60;

constexpr std::string_view metadata_key = "__metadata__";

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t index = length_bytes; index-- > 0;)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[index]);
  return value;
}

/// Returns the text of the header.
Result<std::string_view> header_of(std::span<const std::byte> content, const std::string& path) {
  const auto fault = [&path](const std::string& message) {
    return base::Error{base::Failure::bad_input, path, 0, 0, message};
  };
  if (content.size() < length_bytes)
    return fault(
        fmt::format("the file has only {} bytes; accepted: a safetensors file of at least 8 bytes", content.size()));
  const std::uint64_t length = little_endian(content);
  if (length > max_header)
    return fault(fmt::format("not a safetensors file: its header would have {} bytes; accepted: at most {}", length,
                             max_header));
  if (length > content.size() - length_bytes)
    return fault(
        fmt::format("the file is truncated: its header ends at byte {}, the file at byte {}; accepted: a complete file",
                    length + length_bytes, content.size()));
  const std::span<const std::byte> header = content.subspan(length_bytes, length);
  return std::string_view(reinterpret_cast<const char*>(header.data()), header.size());
}

Result<Metadata> read_metadata(const Node& node) {
  if (!node.is_map())
    return node.error(fmt::format("`{}` is {}; accepted: a map of strings", metadata_key, node.describe()));
  Metadata metadata;
  for (std::size_t index = 0; index < node.size(); ++index) {
    const Node value = node.value(index);
    if (!value.is_string())
      return value.error(fmt::format("a metadata value is {}; accepted: a string", value.describe()));
    metadata.emplace_back(node.key(index), value.text());
  }
  return metadata;
}

Result<std::vector<std::int64_t>> read_shape(const Node& node, const std::string& what) {
  if (!node.is_list())
    return node.error(fmt::format("the shape of {} is {}; accepted: a list of integers", what, node.describe()));
  std::vector<std::int64_t> shape;
  for (std::size_t index = 0; index < node.size(); ++index) {
    DOVETAIL_TRY(const std::int64_t dimension,
                 base::read_integer(node.item(index), "a dimension of " + what, 0, max_dimension));
    shape.push_back(dimension);
  }
  return shape;
}

/// Returns the size in bytes of a tensor of that shape; nullopt if it exceeds max_bytes.
std::optional<std::int64_t> bytes_of(const std::vector<std::int64_t>& shape, ElementType type) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t bytes = weights::bytes_of(type);
  for (const std::int64_t dimension : shape) {
    if (bytes > max_bytes / dimension) return std::nullopt;
    bytes *= dimension;
  }
  return bytes;
}

/// A tensor and the range of its bytes after the header.
struct Placed {
  StoredTensor tensor;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t index = 0;  ///< position in the header
};

Result<Placed> read_tensor(const Node& header, std::size_t index) {
  const Node map = header.value(index);
  const std::string what = "tensor " + base::quote(header.key(index));
  DOVETAIL_CHECK(base::check_keys(map, what, {"dtype", "shape", "data_offsets"}));
  DOVETAIL_TRY(const Node type, base::require(map, what, "dtype"));
  DOVETAIL_TRY(const Node shape, base::require(map, what, "shape"));
  DOVETAIL_TRY(const Node offsets, base::require(map, what, "data_offsets"));
  Placed placed;
  placed.index = index;
  placed.tensor.name = header.key(index);
  DOVETAIL_TRY(placed.tensor.type, base::read_enum<ElementType>(type, "the type of " + what));
  DOVETAIL_TRY(placed.tensor.shape, read_shape(shape, what));
  if (!offsets.is_list() || offsets.size() != 2)
    return offsets.error(
        fmt::format("the offsets of {} are {}; accepted: two integers, [begin, end]", what, offsets.describe()));
  DOVETAIL_TRY(placed.begin, base::read_integer(offsets.item(0), "the start offset of " + what, 0, max_bytes));
  DOVETAIL_TRY(placed.end, base::read_integer(offsets.item(1), "the end offset of " + what, placed.begin, max_bytes));
  const auto bytes = bytes_of(placed.tensor.shape, placed.tensor.type);
  if (!bytes) return shape.error(fmt::format("{} exceeds the maximum size of {} bytes", what, max_bytes));
  if (placed.end - placed.begin != *bytes)
    return offsets.error(
        fmt::format("{} of shape {} has {} bytes in the file; accepted: {} (as its shape and type require)", what,
                    shape_text(placed.tensor.shape), placed.end - placed.begin, *bytes));
  return placed;
}

/// Sorts the tensors by their bytes and checks that they cover all of `data` without gaps.
base::Status settle(std::vector<Placed>& placed, const Node& header, std::span<const std::byte> data) {
  std::sort(placed.begin(), placed.end(),
            [](const Placed& a, const Placed& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  const auto size = static_cast<std::int64_t>(data.size());
  std::int64_t end = 0;
  for (Placed& each : placed) {
    const Node map = header.value(each.index);
    const std::string what = "tensor " + base::quote(each.tensor.name);
    if (each.begin != end)
      return map.error(fmt::format("{} begins at byte {} after the header; accepted: {} (tensors must be contiguous)",
                                   what, each.begin, end));
    if (each.end > size)
      return map.error(
          fmt::format("the file is truncated: {} ends at byte {} after the header, the file at byte {}; "
                      "accepted: a complete file",
                      what, each.end, size));
    end = each.end;
    each.tensor.bytes =
        data.subspan(static_cast<std::size_t>(each.begin), static_cast<std::size_t>(each.end - each.begin));
  }
  if (end < size)
    return header.error(
        fmt::format("{} bytes follow the last tensor; accepted: no bytes after the tensors", size - end));
  return {};
}

}  // namespace

std::int64_t StoredTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Result<SafetensorsContent> parse_safetensors(std::span<const std::byte> content, const std::string& path) {
  DOVETAIL_TRY(const std::string_view text, header_of(content, path));
  DOVETAIL_TRY(const base::Document document, base::parse_json(text, path));
  const Node header = document.root();
  if (!header.is_map())
    return header.error(fmt::format("the header is {}; accepted: a map of tensors", header.describe()));
  SafetensorsContent parsed;
  std::vector<Placed> placed;
  for (std::size_t index = 0; index < header.size(); ++index) {
    if (header.key(index) == metadata_key) {
      DOVETAIL_TRY(parsed.metadata, read_metadata(header.value(index)));
    } else {
      DOVETAIL_TRY(Placed tensor, read_tensor(header, index));
      placed.push_back(std::move(tensor));
    }
  }
  DOVETAIL_CHECK(settle(placed, header, content.subspan(length_bytes + text.size())));
  for (Placed& each : placed) parsed.tensors.push_back(std::move(each.tensor));
  return parsed;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  DOVETAIL_TRY(base::MappedFile mapped, base::MappedFile::open(path));
  SafetensorsFile file(std::move(mapped));
  DOVETAIL_TRY(SafetensorsContent content, parse_safetensors(file.file_.bytes(), path));
  file.path_ = path;
  file.tensors_ = std::move(content.tensors);
  file.metadata_ = std::move(content.metadata);
  file.by_name_.resize(file.tensors_.size());
  std::iota(file.by_name_.begin(), file.by_name_.end(), std::size_t{0});
  std::sort(file.by_name_.begin(), file.by_name_.end(),
            [&](std::size_t a, std::size_t b) { return file.tensors_[a].name < file.tensors_[b].name; });
  return file;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [this](std::size_t index, std::string_view wanted) { return tensors_[index].name < wanted; });
  if (found == by_name_.end() || tensors_[*found].name != name) return nullptr;
  return &tensors_[*found];
}

base::Status write_safetensors(const std::string& path, std::span<const StoredTensor> tensors,
                               const Metadata& metadata) {
  std::string members;
  const auto add = [&members](std::string_view name, const std::string& value) {
    members += (members.empty() ? "" : ",") + base::json_string(name) + ":" + value;
  };
  if (!metadata.empty()) {
    std::string pairs;
    for (const auto& [key, value] : metadata)
      pairs += (pairs.empty() ? "" : ",") + base::json_string(key) + ":" + base::json_string(value);
    add(metadata_key, "{" + pairs + "}");
  }
  std::size_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    DOVETAIL_ASSERT(bytes_of(tensor.shape, tensor.type) == static_cast<std::int64_t>(tensor.bytes.size()));
    const std::size_t begin = std::exchange(end, end + tensor.bytes.size());
    add(tensor.name, fmt::format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                 base::enum_name(tensor.type), fmt::join(tensor.shape, ","), begin, end));
  }
  std::string header = "{" + members + "}";
  header.resize((header.size() + length_bytes - 1) / length_bytes * length_bytes, ' ');
  std::string length;
  for (std::size_t byte = 0; byte < length_bytes; ++byte)
    length += static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * byte) & 0xFF);
  std::vector<std::string_view> parts{length, header};
  for (const StoredTensor& tensor : tensors)
    parts.emplace_back(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return base::write_file(path, parts);
}

}  // namespace dovetail::weights
