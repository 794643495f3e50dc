#include "runtime/ranks/job_store.h"

#include <fmt/core.h>

#include <csignal>
#include <cstddef>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "runtime/ranks/rank_note.h"

namespace dovetail::runtime {

struct JobStore::Impl {
  std::string name;  ///< name in messages
  c10::intrusive_ptr<c10d::TCPStore> server;
  c10::intrusive_ptr<c10d::Store> keys;  ///< keys of this attempt
};

namespace {

using base::Result;
using base::Status;

std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }
std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

/// Returns the result of `run_query()`, or an Error if the store does not respond.
template <class Query>
auto answer_of(const std::string& name, const Query& run_query) -> Result<decltype(run_query())> {
  try {
    return run_query();
  } catch (const std::exception& error) {
    return base::Error{base::Failure::lost, "", 0, 0,
                       fmt::format("the job's store at {} does not respond: {}", name, reason_of(error))};
  }
}

c10::intrusive_ptr<c10d::TCPStore> open_store(const std::string& host, std::uint16_t port, bool holds,
                                              std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = port;
  options.isServer = holds;
  options.waitWorkers = false;
  options.timeout = timeout;
  // libtorch 1.13 writes to a closed connection without suppressing the signal.
  std::signal(SIGPIPE, SIG_IGN);
  return c10::make_intrusive<c10d::TCPStore>(host, options);
}

c10::intrusive_ptr<c10d::Store> keys_of(const c10::intrusive_ptr<c10d::TCPStore>& store, int attempt) {
  return c10::make_intrusive<c10d::PrefixStore>(fmt::format("dovetail/attempt_{}", attempt), store);
}

}  // namespace

JobStore::JobStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JobStore::~JobStore() = default;

Result<std::unique_ptr<JobStore>> JobStore::hold(std::uint16_t port, int attempt) {
  try {
    auto impl = std::make_unique<Impl>();
    impl->server = open_store("127.0.0.1", port, true, std::chrono::seconds(10));
    impl->name = fmt::format("127.0.0.1:{}", impl->server->getPort());
    impl->keys = keys_of(impl->server, attempt);
    return std::unique_ptr<JobStore>(new JobStore(std::move(impl)));
  } catch (const std::exception& error) {
    return base::bad_input(fmt::format("the job's store cannot listen on port {}: {}; set MASTER_PORT to a free port",
                                       port, reason_of(error)));
  }
}

Result<std::unique_ptr<JobStore>> JobStore::connect(const std::string& host, std::uint16_t port, int attempt,
                                                    std::chrono::milliseconds timeout) {
  auto impl = std::make_unique<Impl>();
  impl->name = fmt::format("{}:{}", host, port);
  DOVETAIL_TRY(impl->server, answer_of(impl->name, [&] { return open_store(host, port, false, timeout); }));
  impl->keys = keys_of(impl->server, attempt);
  return std::unique_ptr<JobStore>(new JobStore(std::move(impl)));
}

std::uint16_t JobStore::port() const { return impl_->server->getPort(); }

Status JobStore::set(const std::string& key, const std::string& value) {
  const auto done = answer_of(impl_->name, [&] { return impl_->keys->set(key, bytes_of(value)), true; });
  return done.ok() ? Status() : Status(done.error());
}

Result<std::optional<std::string>> JobStore::find(const std::string& key) {
  return answer_of(impl_->name, [&]() -> std::optional<std::string> {
    if (!impl_->keys->check({key})) return std::nullopt;
    return text_of(impl_->keys->get(key));
  });
}

Result<std::string> JobStore::propose(const std::string& key, const std::string& value) {
  return answer_of(impl_->name, [&] { return text_of(impl_->keys->compareSet(key, {}, bytes_of(value))); });
}

Result<std::int64_t> JobStore::add(const std::string& key, std::int64_t number) {
  return answer_of(impl_->name, [&] { return std::int64_t{impl_->keys->add(key, number)}; });
}

c10d::Store& JobStore::raw() { return *impl_->keys; }

}  // namespace dovetail::runtime
