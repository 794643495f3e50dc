#include "records/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/file.h"
#include "base/open_file.h"
#include "base/utf8.h"

namespace dovetail::records {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Failure;
using base::Result;
using base::Status;

std::string number_text(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string list_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + number_text(value);
  return "[" + text + "]";
}

void add_list(base::JsonObject& row, std::string_view key, const std::vector<double>& values) {
  if (!values.empty()) row.add(key, list_text(values));
}

/// Returns the iteration of a row; nullopt if the row is incomplete.
std::optional<std::int64_t> iteration_of(std::string_view row, const std::string& path) {
  const auto document = base::parse_json(row, path);
  if (!document.ok()) return std::nullopt;
  const auto node = document->root().find("iteration");
  if (!node) return std::nullopt;
  const auto iteration = base::read_integer(*node, "`iteration`", 0, INT64_MAX);
  return iteration.ok() ? std::optional(*iteration) : std::nullopt;
}

/// Returns the end of the last row of an iteration up to `iterations`. Rows are in order of iterations.
std::size_t end_of_rows(std::string_view content, std::int64_t iterations, const std::string& path) {
  std::size_t end = content.rfind('\n') + 1;
  while (end > 0) {
    const std::size_t begin = end == 1 ? 0 : content.rfind('\n', end - 2) + 1;
    const auto iteration = iteration_of(content.substr(begin, end - 1 - begin), path);
    if (iteration && *iteration <= iterations) return end;
    end = begin;
  }
  return 0;
}

/// Cuts a file after the last row of an iteration up to `iterations`. Concurrent readers see only complete rows.
Status cut(const std::string& path, std::int64_t iterations) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::size_t kept = 0;
  {
    DOVETAIL_TRY(const base::MappedFile file, base::MappedFile::open(path));
    const std::string_view content(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
    kept = end_of_rows(content, iterations, path);
    if (kept == content.size()) return {};
  }
  fs::resize_file(path, kept, error);
  if (error) return Error{Failure::io, path, 0, 0, "cannot be truncated: " + error.message()};
  return {};
}

Result<base::LineFile> open_rows(const fs::path& folder, const char* name, std::int64_t iterations) {
  const std::string path = (folder / name).string();
  DOVETAIL_CHECK(cut(path, iterations));
  return base::LineFile::open(path);
}

}  // namespace

std::string row_of(const control::Metrics& metrics) {
  base::JsonObject row;
  base::JsonObject timing;
  for (const control::Metric& metric : metrics)
    (metric.is_timing ? timing : row).add(metric.name, number_text(metric.value));
  if (!timing.empty()) row.add("timing", timing.text());
  return row.text() + "\n";
}

std::string row_of(std::int64_t iteration, const control::Sample& sample, std::string_view prompt) {
  const auto& tokens = sample.sequence.tokens;
  const auto response = tokens.begin() + static_cast<std::ptrdiff_t>(sample.sequence.first_scored);
  base::JsonObject row;
  row.add("iteration", fmt::format("{}", iteration));
  row.add("epoch", fmt::format("{}", sample.epoch));
  row.add("prompt_index", fmt::format("{}", sample.prompt));
  row.add("copy", fmt::format("{}", sample.copy));
  row.add("reward", number_text(sample.reward));
  row.add("shaped_reward", number_text(sample.shaped_reward));
  row.add("ended", sample.ended ? "true" : "false");
  row.add("prompt", base::json_string(prompt));
  row.add("text", base::json_string(sample.text));
  row.add("prompt_tokens", fmt::format("[{}]", fmt::join(tokens.begin(), response, ", ")));
  row.add("response_tokens", fmt::format("[{}]", fmt::join(response, tokens.end(), ", ")));
  add_list(row, "sampled", sample.sampled);
  add_list(row, "policy", sample.policy);
  add_list(row, "reference", sample.reference);
  add_list(row, "values", sample.values);
  add_list(row, "advantages", sample.advantages);
  add_list(row, "targets", sample.targets);
  return row.text() + "\n";
}

RunFolder::RunFolder(base::LineFile metrics, base::LineFile evaluations, base::LineFile samples, EventFile events)
    : metrics_(std::move(metrics)),
      evaluations_(std::move(evaluations)),
      samples_(std::move(samples)),
      events_(std::move(events)) {}

Result<RunFolder> RunFolder::open(const std::string& folder, std::int64_t iterations, bool is_to_be_evaluated) {
  const fs::path path(folder);
  std::error_code error;
  base::remove_abandoned_files(folder);
  for (const char* name : {"tensorboard", "checkpoints"}) {
    fs::create_directories(path / name, error);
    if (error) return Error{Failure::io, (path / name).string(), 0, 0, "cannot be created: " + error.message()};
  }
  DOVETAIL_TRY(base::LineFile metrics, open_rows(path, metrics_file_name, iterations));
  DOVETAIL_TRY(base::LineFile evaluations,
               open_rows(path, evaluations_file_name, iterations - (is_to_be_evaluated ? 1 : 0)));
  DOVETAIL_TRY(base::LineFile samples, open_rows(path, samples_file_name, iterations));
  // A run that starts over also drops the evaluation before its first iteration.
  const std::int64_t first_step = iterations == 0 && is_to_be_evaluated ? 0 : iterations + 1;
  DOVETAIL_TRY(EventFile events, EventFile::open((path / "tensorboard").string(), first_step));
  return RunFolder(std::move(metrics), std::move(evaluations), std::move(samples), std::move(events));
}

Status RunFolder::add_metrics(const control::Metrics& metrics) {
  DOVETAIL_CHECK(metrics_.append(row_of(metrics)));
  return events_.add(metrics, static_cast<std::int64_t>(metrics.front().value), "train");
}

Status RunFolder::add_evaluation(const control::Metrics& metrics) {
  DOVETAIL_CHECK(evaluations_.append(row_of(metrics)));
  return events_.add(metrics, static_cast<std::int64_t>(metrics.front().value), "evaluation");
}

Status RunFolder::add_samples(std::int64_t iteration, std::span<const control::Sample> samples,
                              std::span<const control::PromptTokens> prompts) {
  std::string rows;
  for (const control::Sample& sample : samples) rows += row_of(iteration, sample, prompts[sample.prompt].text);
  return samples_.append(rows);
}

Status RunFolder::flush() {
  for (base::LineFile* const file : {&metrics_, &evaluations_, &samples_}) DOVETAIL_CHECK(file->flush());
  return {};
}

FolderLock::FolderLock(std::unique_ptr<base::Descriptor> folder) : folder_(std::move(folder)) {}
FolderLock::FolderLock(FolderLock&&) noexcept = default;
FolderLock& FolderLock::operator=(FolderLock&&) noexcept = default;
FolderLock::~FolderLock() = default;

base::Result<FolderLock> FolderLock::take(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return base::Error{base::Failure::io, folder, 0, 0, "cannot be created: " + error.message()};
  auto opened = std::make_unique<base::Descriptor>(base::open_file(folder, O_RDONLY | O_DIRECTORY));
  if (!opened->is_open()) return base::io_error(folder, "cannot be opened", errno);
  if (::flock(opened->number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return base::Error{base::Failure::bad_input, folder, 0, 0,
                       "another program is using this folder; wait until it ends or use another folder"};
  return FolderLock(std::move(opened));
}

namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t polynomial = 0x82F63B78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    table[byte] = crc;
  }
  return table;
}

std::uint32_t masked(std::uint32_t crc) {
  constexpr std::uint32_t delta = 0xA282EAD8;
  return std::rotr(crc, 15) + delta;
}

/// Returns the little-endian bytes of a number.
template <class T>
std::string bytes_of(T number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xFF);
  return bytes;
}

/// A protocol buffer message, built field by field.
class Message {
 public:
  void add_number(std::uint32_t field, std::uint64_t number) {
    add_varint(field << 3);
    add_varint(number);
  }
  void add_double(std::uint32_t field, double number) {
    add_varint((field << 3) | 1);
    bytes_ += bytes_of(std::bit_cast<std::uint64_t>(number));
  }
  void add_float(std::uint32_t field, float number) {
    add_varint((field << 3) | 5);
    bytes_ += bytes_of(std::bit_cast<std::uint32_t>(number));
  }
  void add_bytes(std::uint32_t field, std::string_view bytes) {
    add_varint((field << 3) | 2);
    add_varint(bytes.size());
    bytes_ += bytes;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void add_varint(std::uint64_t number) {
    while (number >= 0x80) {
      bytes_ += static_cast<char>((number & 0x7F) | 0x80);
      number >>= 7;
    }
    bytes_ += static_cast<char>(number);
  }

  std::string bytes_;
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Field numbers of Event in event.proto.
namespace event {
constexpr std::uint32_t wall_time = 1;
constexpr std::uint32_t step = 2;
constexpr std::uint32_t file_version = 3;
constexpr std::uint32_t summary = 5;
constexpr std::uint32_t session_log = 7;
}  // namespace event

std::string record_of(const Message& message) {
  const std::string length = bytes_of<std::uint64_t>(message.bytes().size());
  return length + bytes_of(masked(crc32c(length))) + message.bytes() + bytes_of(masked(crc32c(message.bytes())));
}

Message event_at(std::int64_t step) {
  Message message;
  message.add_double(event::wall_time, seconds_now());
  message.add_number(event::step, static_cast<std::uint64_t>(step));
  return message;
}

constexpr std::string_view event_file_prefix = "events.out.tfevents.";

/// Returns the time in the name of the last event file of the folder, or 0.
std::int64_t last_time_in(const std::string& folder) {
  std::int64_t last = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(event_file_prefix)) continue;
    std::int64_t time = 0;
    const char* const digits = name.data() + event_file_prefix.size();
    if (std::from_chars(digits, name.data() + name.size(), time).ec == std::errc()) last = std::max(last, time);
  }
  return last;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = make_crc_table();
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

EventFile::EventFile(base::LineFile file) : file_(std::move(file)) {}

base::Result<EventFile> EventFile::open(const std::string& folder, std::int64_t first_step) {
  const std::int64_t last = last_time_in(folder);
  const std::int64_t time = std::max(static_cast<std::int64_t>(seconds_now()), last + 1);
  const std::string name = fmt::format("{}{:010}.dovetail", event_file_prefix, time);
  DOVETAIL_TRY(base::LineFile file, base::LineFile::open((fs::path(folder) / name).string()));
  Message version = event_at(0);
  version.add_bytes(event::file_version, "brain.Event:2");
  std::string records = record_of(version);
  if (last > 0) {
    constexpr std::uint64_t start = 1;  // SessionLog.SessionStatus
    Message log;
    log.add_number(1, start);
    Message resumed = event_at(first_step);
    resumed.add_bytes(event::session_log, log.bytes());
    records += record_of(resumed);
  }
  DOVETAIL_CHECK(file.append(records));
  return EventFile(std::move(file));
}

base::Status EventFile::add(const control::Metrics& metrics, std::int64_t step, std::string_view prefix) {
  Message summary;
  for (const control::Metric& metric : metrics) {
    if (metric.name == "iteration") continue;
    Message value;
    value.add_bytes(1, fmt::format("{}/{}", metric.is_timing ? "timing" : prefix, metric.name));
    value.add_float(2, static_cast<float>(metric.value));
    summary.add_bytes(1, value.bytes());
  }
  Message message = event_at(step);
  message.add_bytes(event::summary, summary.bytes());
  return file_.append(record_of(message));
}

}  // namespace dovetail::records
