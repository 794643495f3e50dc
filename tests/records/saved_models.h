// Models that a checkpoint can only save and load, and a full disk.
#pragma once

#include <sys/resource.h>

#include <csignal>
#include <string>

#include "base/assert.h"
#include "base/file.h"
#include "control/models.h"

namespace dovetail::records {

/// Saves two files that contain its version.
class SavedModels : public control::Models {
 public:
  int version = 0;
  std::size_t size = 100;     ///< bytes of each file
  base::Status failure = {};  ///< returned by save, after its first file
  void (*on_save)() = [] {};  ///< called between its files

  static std::string content(const std::string& role, int version, std::size_t size = 100) {
    std::string text = role + " " + std::to_string(version) + " ";
    text.resize(size, '.');
    return text;
  }

  base::Status save(const std::string& folder) const override {
    DOVETAIL_CHECK(base::write_file(folder + "/actor.state", content("actor", version, size)));
    on_save();
    DOVETAIL_CHECK(failure);
    return base::write_file(folder + "/critic.state", content("critic", version, size));
  }

  base::Result<std::vector<control::GeneratedResponse>> generate(
      const std::string&, std::span<const control::GenerationRequest>, const control::GenerationSettings&,
      const parallel::Cancellation*,
      const std::function<void(std::size_t, const control::GeneratedResponse&)>&) override {
    DOVETAIL_ASSERT(false);
  }
  base::Result<std::vector<control::Scores>> score(const std::string&, std::span<const control::TokenSequence>,
                                                   const control::PassSettings&) override {
    DOVETAIL_ASSERT(false);
  }
  base::Status train(std::span<const control::Training>) override { DOVETAIL_ASSERT(false); }
  void average(const std::string&, const std::string&, double) override { DOVETAIL_ASSERT(false); }
  base::Status load(const std::string&) override { DOVETAIL_ASSERT(false); }
  base::Status export_role(const std::string&, const std::string&) const override { DOVETAIL_ASSERT(false); }
  base::Result<std::vector<control::RankUsage>> take_usage() override { DOVETAIL_ASSERT(false); }
  std::int64_t parameters(const std::string&) const override { DOVETAIL_ASSERT(false); }
};

/// Limits the size of files while it exists, like a full disk, but with another error.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    DOVETAIL_ASSERT(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{bytes, before_.rlim_max};
    DOVETAIL_ASSERT(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace dovetail::records
