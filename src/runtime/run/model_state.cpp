#include "runtime/run/model_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "weights/safetensors.h"

namespace dovetail::runtime {
namespace {

namespace fs = std::filesystem;
using base::Status;
using weights::SafetensorsFile;

constexpr std::string_view embedding_name = "model.embed_tokens.weight";

std::string_view name_of(const Parameter& parameter) {
  return parameter.is_copy() ? embedding_name : std::string_view(parameter.is.name);
}

std::string moment_name(std::string_view moment, const Parameter& parameter, const WeightPart& part) {
  const bool is_whole = part.begin == 0 && part.end == parameter.value.numel();
  const std::string range = is_whole ? "" : fmt::format("[{}:{}]", part.begin, part.end);
  return fmt::format("{}{}{}", moment, name_of(parameter), range);
}

NamedTensor steps_of(const Optimizer& optimizer) { return {"steps", optimizer.steps}; }

constexpr std::array<std::string_view, 2> moments{"first_moment.", "second_moment."};

const std::vector<Tensor>& values_of(const Optimizer& optimizer, std::size_t moment) {
  return moment == 0 ? optimizer.first : optimizer.second;
}

/// Elements of a moment in a file.
struct MomentRange {
  std::int64_t begin = 0;
  std::span<const float> values;

  std::int64_t end() const { return begin + static_cast<std::int64_t>(values.size()); }
};

/// Parses "[BEGIN:END]" and returns BEGIN; 0 for an empty string, nullopt for a malformed one.
std::optional<std::int64_t> begin_of(std::string_view text) {
  if (text.empty()) return 0;
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  std::int64_t begin = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), begin);
  if (error != std::errc() || *end != ':') return std::nullopt;
  return begin;
}

/// Returns the ranges of the moment `name` in all files.
std::vector<MomentRange> ranges_of(const std::vector<SafetensorsFile>& files, std::string_view name) {
  std::vector<MomentRange> ranges;
  for (const SafetensorsFile& file : files)
    for (const weights::StoredTensor& stored : file.tensors()) {
      if (!stored.name.starts_with(name) || stored.type != weights::ElementType::f32) continue;
      const auto begin = begin_of(std::string_view(stored.name).substr(name.size()));
      if (!begin) continue;
      const auto* const values = reinterpret_cast<const float*>(stored.bytes.data());
      ranges.push_back({*begin, {values, stored.bytes.size() / sizeof(float)}});
    }
  return ranges;
}

/// Fills elements [begin, begin + size) of a moment. Returns whether `ranges` cover all of them.
bool fill(std::span<float> values, std::int64_t begin, const std::vector<MomentRange>& ranges) {
  const std::int64_t end = begin + static_cast<std::int64_t>(values.size());
  std::int64_t filled = 0;
  for (const MomentRange& range : ranges) {
    const std::int64_t from = std::max(begin, range.begin);
    const std::int64_t to = std::min(end, range.end());
    if (from >= to) continue;
    std::copy_n(range.values.begin() + (from - range.begin), to - from, values.begin() + (from - begin));
    filled += to - from;
  }
  return filled == end - begin;
}

base::Result<std::vector<SafetensorsFile>> open_files(const std::string& folder, const std::string& role) {
  std::vector<SafetensorsFile> files;
  DOVETAIL_TRY(SafetensorsFile first, SafetensorsFile::open(state_file(folder, role)));
  files.push_back(std::move(first));
  std::error_code none;
  for (int rank = 0; fs::exists(part_file(folder, role, rank), none); ++rank) {
    DOVETAIL_TRY(SafetensorsFile part, SafetensorsFile::open(part_file(folder, role, rank)));
    files.push_back(std::move(part));
  }
  return files;
}

}  // namespace

std::string state_file(const std::string& folder, const std::string& role) {
  return (fs::path(folder) / (role + ".safetensors")).string();
}

std::string part_file(const std::string& folder, const std::string& role, int rank) {
  return (fs::path(folder) / fmt::format("{}.rank-{}.safetensors", role, rank)).string();
}

std::vector<NamedTensor> weights_state(const Weights& weights) {
  std::vector<NamedTensor> state;
  for (const Parameter& parameter : weights.parameters)
    if (!parameter.shared) state.push_back({parameter.is.name, parameter.value});
  return state;
}

std::vector<NamedTensor> moments_state(std::span<const SteppedWeights> stepped) {
  std::vector<NamedTensor> state;
  for (const SteppedWeights& each : stepped)
    for (std::size_t i = 0; !each.is_kept_elsewhere && i < each.optimizer->parts.size(); ++i) {
      const WeightPart& part = each.optimizer->parts[i];
      const Parameter& parameter = each.weights->parameters[part.parameter];
      if (parameter.is_copy()) continue;
      for (std::size_t moment = 0; moment < moments.size(); ++moment)
        state.push_back({moment_name(moments[moment], parameter, part), values_of(*each.optimizer, moment)[i]});
    }
  state.push_back(steps_of(*stepped.front().optimizer));
  return state;
}

Status read_moments(const std::string& folder, const std::string& role, std::span<const SteppedWeights> stepped) {
  DOVETAIL_TRY(const std::vector<SafetensorsFile> files, open_files(folder, role));
  for (const SteppedWeights& each : stepped) {
    const Optimizer& optimizer = *each.optimizer;
    DOVETAIL_CHECK(read_tensors(files.back().path(), std::array{steps_of(optimizer)}));
    for (std::size_t i = 0; i < optimizer.parts.size(); ++i) {
      const Parameter& parameter = each.weights->parameters[optimizer.parts[i].parameter];
      for (std::size_t moment = 0; moment < moments.size(); ++moment) {
        const Tensor& values = values_of(optimizer, moment)[i];
        const std::string name = fmt::format("{}{}", moments[moment], name_of(parameter));
        const Tensor on_host = values.cpu();
        const std::span<float> buffer(on_host.data_ptr<float>(), static_cast<std::size_t>(on_host.numel()));
        if (!fill(buffer, optimizer.parts[i].begin, ranges_of(files, name)))
          return base::Error{
              base::Failure::bad_input, files.front().path(), 0, 0,
              fmt::format("tensor \"{}\" is missing or incomplete; use the complete set of rank files from one run",
                          name)};
        values.copy_(on_host);
      }
    }
  }
  return {};
}

}  // namespace dovetail::runtime
