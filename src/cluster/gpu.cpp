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
  std::string_view other_names;  ///< separated by |, without the maker's name
  std::int64_t mebibytes;
  double memory_bandwidth;  // GB/s
  double bf16, fp16, fp8;   // TFLOP/s
  double link, host;        // GB/s in one direction
  double network;           // Gb/s
};

// PCIe 3, 4 and 5 with 16 lanes: 16, 32 and 64 GB/s in one direction.
constexpr std::array<Row, 28> rows = {{
    {"A100-40", "A100-SXM4-40GB", 40960, 1555, 312, 312, 0, 300, 32, 200},
    {"A100-80", "A100|A100-SXM4-80GB", 81920, 2039, 312, 312, 0, 300, 32, 200},
    {"A100-PCIe", "A100 80GB PCIe|A100-PCIe-80", 81920, 1935, 312, 312, 0, 32, 32, 200},
    {"A800-80", "A800|A800-SXM4-80GB", 81920, 2039, 312, 312, 0, 200, 32, 200},
    {"H100-80", "H100|H100-SXM|H100 80GB HBM3", 81559, 3350, 989, 989, 1979, 450, 64, 400},
    {"H100-PCIe", "H100 PCIe|H100-PCIe-80", 81559, 2000, 756, 756, 1513, 64, 64, 200},
    {"H800-80", "H800", 81559, 3350, 989, 989, 1979, 200, 64, 400},
    {"H200", "H200-141", 143771, 4800, 989, 989, 1979, 450, 64, 400},
    {"H20-96", "H20", 97871, 4000, 148, 148, 296, 450, 64, 400},
    {"H20-141", "H20-3e", 143771, 4800, 148, 148, 296, 450, 64, 400},
    {"GH200", "GH200 480GB|GH200-96", 97871, 4000, 989, 989, 1979, 450, 450, 400},
    {"B200", "B200-180", 183359, 7700, 2250, 2250, 4500, 900, 64, 400},
    {"GB200", "", 189471, 8000, 2500, 2500, 5000, 900, 225, 400},
    {"B300", "B300 SXM6 AC", 275040, 7750, 2250, 2250, 4500, 900, 64, 800},
    {"GB300", "", 284208, 8000, 2500, 2500, 5000, 900, 225, 800},
    {"L40S", "L40S-48", 46068, 864, 362, 362, 733, 32, 32, 100},
    {"L40", "L40-48", 46068, 864, 181, 181, 362, 32, 32, 100},
    {"L20", "L20-48", 46068, 864, 119.5, 119.5, 239, 32, 32, 100},
    {"L4", "L4-24", 23034, 300, 121, 121, 242, 32, 32, 100},
    {"A10", "A10-24", 23028, 600, 125, 125, 0, 32, 32, 100},
    {"A30", "A30-24", 24576, 933, 165, 165, 0, 32, 32, 100},
    {"RTX-3090", "3090|GeForce RTX 3090", 24576, 936, 71, 71, 0, 32, 32, 100},
    {"RTX-4090", "4090|GeForce RTX 4090", 24564, 1008, 165.2, 165.2, 330.3, 32, 32, 100},
    {"RTX-5090", "5090|GeForce RTX 5090", 32607, 1792, 209.5, 209.5, 419, 64, 64, 100},
    {"RTX-PRO-6000", "RTX PRO 6000 Blackwell Server Edition|RTX PRO 6000 Blackwell Workstation Edition", 97887, 1792,
     467.8, 467.8, 935.6, 64, 64, 100},
    {"A6000-48", "A6000|RTX-A6000", 49140, 768, 154.8, 154.8, 0, 32, 32, 100},
    {"V100-32", "V100|V100-SXM2-32GB", 32768, 900, 0, 125, 0, 150, 16, 100},
    {"MI300X", "MI300X-192", 196592, 5300, 1307.4, 1307.4, 2614.9, 448, 64, 400},
}};

/// Returns the name in lower case, without dashes, spaces, the maker's name and a final GB.
std::string normalized(std::string_view name) {
  std::string kept;
  for (const char c : name) {
    if (c != '-' && c != '_' && c != ' ') kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const std::string_view maker : {"nvidia", "tesla", "amd", "instinct"})
    if (kept.starts_with(maker)) kept.erase(0, maker.size());
  const bool after_digit = kept.size() > 2 && std::isdigit(static_cast<unsigned char>(kept[kept.size() - 3])) != 0;
  if (kept.ends_with("gb") && after_digit) kept.erase(kept.size() - 2);
  return kept;
}

/// Returns the name and other names of a GPU.
std::vector<std::string_view> names_of(const Row& row) {
  std::vector<std::string_view> names{row.name};
  for (std::string_view left = row.other_names; !left.empty();) {
    const std::size_t end = std::min(left.find('|'), left.size());
    names.push_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return names;
}

bool is_named(const Row& row, const std::string& wanted) {
  return std::ranges::any_of(names_of(row), [&](std::string_view name) { return normalized(name) == wanted; });
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
    const std::vector<std::string_view> names = names_of(row);
    candidates.insert(candidates.end(), names.begin(), names.end());
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
