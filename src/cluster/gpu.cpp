#include "cluster/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/document.h"
#include "base/enum_names.h"

namespace dovetail::cluster {

namespace {

struct Row {
  std::string_view name;
  std::array<std::string_view, 2> other_names;
  std::int64_t mebibytes;
  double memory_bandwidth;  // GB/s
  double bf16, fp16, fp8;   // TFLOP/s
  double link, host;        // GB/s in one direction
  double network;           // Gb/s
};

// PCIe 3, 4 and 5 with 16 lanes: 16, 32 and 64 GB/s in one direction.
constexpr std::array<Row, 14> rows = {{
    {"A100-40", {}, 40960, 1555, 312, 312, 0, 300, 32, 200},
    {"A100-80", {"A100"}, 81920, 2039, 312, 312, 0, 300, 32, 200},
    {"A800-80", {"A800"}, 81920, 2039, 312, 312, 0, 200, 32, 200},
    {"H100-80", {"H100", "H100-SXM"}, 81559, 3350, 989, 989, 1979, 450, 64, 400},
    {"H800-80", {"H800"}, 81559, 3350, 989, 989, 1979, 200, 64, 400},
    {"H200", {"H200-141"}, 143771, 4800, 989, 989, 1979, 450, 64, 400},
    {"H20-96", {"H20"}, 97871, 4000, 148, 148, 296, 450, 64, 400},
    {"B200", {"B200-180"}, 183359, 7700, 2250, 2250, 4500, 900, 64, 400},
    {"GB200", {}, 189471, 8000, 2500, 2500, 5000, 900, 225, 400},
    {"L40S", {"L40S-48"}, 46068, 864, 362, 362, 733, 32, 32, 100},
    {"RTX-4090", {"4090"}, 24564, 1008, 165.2, 165.2, 330.3, 32, 32, 100},
    {"A6000-48", {"A6000", "RTX-A6000"}, 49140, 768, 154.8, 154.8, 0, 32, 32, 100},
    {"V100-32", {"V100"}, 32768, 900, 0, 125, 0, 150, 16, 100},
    {"MI300X", {"MI300X-192"}, 196592, 5300, 1307.4, 1307.4, 2614.9, 448, 64, 400},
}};

/// Returns the name in lower case, without dashes, spaces and a final GB.
std::string normalized(std::string_view name) {
  std::string kept;
  for (const char c : name) {
    if (c != '-' && c != '_' && c != ' ') kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  const bool after_digit = kept.size() > 2 && std::isdigit(static_cast<unsigned char>(kept[kept.size() - 3])) != 0;
  if (kept.ends_with("gb") && after_digit) kept.erase(kept.size() - 2);
  return kept;
}

bool is_named(const Row& row, const std::string& wanted) {
  const auto is_it = [&](std::string_view name) { return !name.empty() && normalized(name) == wanted; };
  return is_it(row.name) || std::any_of(row.other_names.begin(), row.other_names.end(), is_it);
}

Gpu gpu_of(const Row& row) {
  constexpr double giga = 1e9;
  constexpr double tera = 1e12;
  const std::int64_t memory = row.mebibytes << 20;
  return {.name = std::string(row.name),
          .memory = memory,
          .usable_memory = usable_of(memory),
          .memory_bandwidth = row.memory_bandwidth * giga,
          .bf16 = row.bf16 * tera,
          .fp16 = row.fp16 * tera,
          .fp8 = row.fp8 * tera,
          .link_bandwidth = row.link * giga,
          .host_bandwidth = row.host * giga,
          .network_bandwidth = row.network * giga / 8};
}

const Row* row_named(std::string_view name) {
  const std::string wanted = normalized(name);
  for (const Row& row : rows) {
    if (is_named(row, wanted)) return &row;
  }
  return nullptr;
}

/// Returns the message about an unknown name. Names are compared in upper case, as in the table.
std::string unknown_name_message(std::string_view name) {
  std::string capitals = normalized(name);
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::vector<std::string_view> candidates;
  for (const Row& row : rows) {
    candidates.push_back(row.name);
    for (const std::string_view other : row.other_names) {
      if (!other.empty()) candidates.push_back(other);
    }
  }
  std::string message = fmt::format("unknown GPU {}; ", base::quote(name));
  const std::vector<std::string_view> nearest = base::nearest_names(capitals, candidates, 1);
  if (!nearest.empty()) message += fmt::format("did you mean {}? ", base::quote(row_named(nearest.front())->name));
  return message + fmt::format("accepted: {}", fmt::join(gpu_names(), ", "));
}

}  // namespace

std::int64_t usable_of(std::int64_t memory) {
  constexpr std::int64_t kept = std::int64_t{1280} << 20;
  return std::max(memory - kept, memory / 2);
}

std::vector<std::string_view> gpu_names() {
  std::vector<std::string_view> names;
  for (const Row& row : rows) names.push_back(row.name);
  return names;
}

base::Result<Gpu> find_gpu(std::string_view name) {
  if (const Row* row = row_named(name)) return gpu_of(*row);
  return base::bad_input(unknown_name_message(name));
}

}  // namespace dovetail::cluster
