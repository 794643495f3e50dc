#include "records/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

namespace dovetail::records {
namespace {

namespace fs = std::filesystem;

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

/// The little-endian bytes of a number.
template <class T>
std::string bytes_of(T number) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>((number >> (8 * i)) & 0xFF);
  return bytes;
}

/// A message of protocol buffers, field by field.
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

/// Fields of event.proto's Event.
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

constexpr std::string_view name_begin = "events.out.tfevents.";

/// The time that the last event file of the folder is named by; 0: there is none.
std::int64_t last_time_in(const std::string& folder) {
  std::int64_t last = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(name_begin)) continue;
    std::int64_t time = 0;
    const char* const digits = name.data() + name_begin.size();
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
  const std::string name = fmt::format("{}{:010}.dovetail", name_begin, time);
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

base::Status EventFile::add(const control::Figures& figures, std::int64_t step, std::string_view prefix) {
  Message summary;
  for (const control::Figure& figure : figures) {
    if (figure.name == "iteration") continue;
    Message value;
    value.add_bytes(1, fmt::format("{}/{}", figure.is_timing ? "timing" : prefix, figure.name));
    value.add_float(2, static_cast<float>(figure.value));
    summary.add_bytes(1, value.bytes());
  }
  Message message = event_at(step);
  message.add_bytes(event::summary, summary.bytes());
  return file_.append(record_of(message));
}

}  // namespace dovetail::records
