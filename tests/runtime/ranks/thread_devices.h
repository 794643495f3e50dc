// Devices of ranks that are threads, connected as NCCL connects GPUs. Messages have no numbers. The work of a group
// runs in the order of submission, once all ranks of the group have submitted it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ranks/device_group.h"

namespace dovetail::runtime {

class ThreadDevices {
 public:
  /// Returns a function that connects the device of `rank` to others.
  ConnectDevices of_rank(int rank) {
    return [this, rank](GroupUse use, const std::vector<int>& ranks, std::chrono::milliseconds timeout) {
      std::shared_ptr<Group> group = find(use, ranks);
      std::unique_lock lock(mutex_);
      ++group->joined;
      changed_.notify_all();
      const auto is_whole = [&] { return group->joined == ranks.size(); };
      if (!changed_.wait_for(lock, timeout, is_whole)) throw std::runtime_error("a device did not connect");
      const auto place = static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
      return std::make_unique<End>(*this, std::move(group), place);
    };
  }

  /// Makes all further work fail with this error.
  void break_down(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    reason_ = reason;
  }

 private:
  enum class Kind { none, send, receive, reduce, all_reduce, broadcast };

  /// Operation that a rank submits.
  struct Operation {
    Kind kind = Kind::none;
    std::size_t root = 0;
    transport::Buffer bytes;
    transport::Numbers numbers;
  };

  /// Operation of all ranks of a group.
  struct Step {
    explicit Step(std::size_t ranks) : question(ranks) {}
    std::vector<Operation> question;  // [position]
    bool is_done = false;
  };

  struct Group {
    explicit Group(std::size_t ranks) : next(ranks) {}
    std::size_t joined = 0;
    std::vector<std::size_t> next;  // [position] next step that the rank submits
    std::vector<std::shared_ptr<Step>> steps;
  };

  class Work final : public DeviceWork {
   public:
    Work(ThreadDevices& devices, std::shared_ptr<Step> step) : devices_(devices), step_(std::move(step)) {}
    bool is_done() override {
      const std::lock_guard lock(devices_.mutex_);
      if (!devices_.reason_.empty()) throw std::runtime_error(devices_.reason_);
      return step_->is_done;
    }

   private:
    ThreadDevices& devices_;
    std::shared_ptr<Step> step_;
  };

  class End final : public DeviceGroup {
   public:
    End(ThreadDevices& devices, std::shared_ptr<Group> group, std::size_t place)
        : devices_(devices), group_(std::move(group)), place_(place) {}

    std::unique_ptr<DeviceWork> send(int to, const transport::Buffer& message) override {
      EXPECT_EQ(to, 1);
      EXPECT_EQ(place_, 0U);
      return ask({Kind::send, 0, message, {}});
    }
    std::unique_ptr<DeviceWork> receive(int from, const transport::Buffer& destination) override {
      EXPECT_EQ(from, 0);
      EXPECT_EQ(place_, 1U);
      return ask({Kind::receive, 0, destination, {}});
    }
    std::unique_ptr<DeviceWork> reduce(transport::Numbers numbers, int root) override {
      return ask({Kind::reduce, static_cast<std::size_t>(root), {}, numbers});
    }
    std::unique_ptr<DeviceWork> all_reduce(transport::Numbers numbers) override {
      return ask({Kind::all_reduce, 0, {}, numbers});
    }
    std::unique_ptr<DeviceWork> broadcast(transport::Numbers numbers, int root) override {
      return ask({Kind::broadcast, static_cast<std::size_t>(root), {}, numbers});
    }

   private:
    std::unique_ptr<DeviceWork> ask(Operation question) {
      const std::lock_guard lock(devices_.mutex_);
      const std::size_t number = group_->next[place_]++;
      while (group_->steps.size() <= number) group_->steps.push_back(std::make_shared<Step>(group_->next.size()));
      const std::shared_ptr<Step> step = group_->steps[number];
      step->question[place_] = std::move(question);
      if (std::all_of(step->question.begin(), step->question.end(),
                      [](const Operation& by) { return by.kind != Kind::none; }))
        carry_out(*step);
      return std::make_unique<Work>(devices_, step);
    }

    ThreadDevices& devices_;
    std::shared_ptr<Group> group_;
    std::size_t place_;
  };

  static void carry_out(Step& step) {
    const Operation& first = step.question.front();
    if (first.kind == Kind::send) {
      const Operation& second = step.question.back();
      EXPECT_EQ(second.kind, Kind::receive);
      ASSERT_EQ(first.bytes.size, second.bytes.size);
      if (first.bytes.size > 0) std::memcpy(second.bytes.data, first.bytes.data, first.bytes.size);
    } else {
      std::visit([&](auto values) { combine(step, values); }, first.numbers);
    }
    step.is_done = true;
  }

  /// In order of positions.
  template <class Value>
  static void combine(const Step& step, std::span<Value> numbers) {
    const Operation& first = step.question.front();
    std::vector<Value> made(numbers.size(), Value(0));
    for (std::size_t place = 0; place < step.question.size(); ++place) {
      const Operation& by = step.question[place];
      EXPECT_EQ(by.kind, first.kind);
      EXPECT_EQ(by.root, first.root);
      const auto& own = std::get<std::span<Value>>(by.numbers);
      ASSERT_EQ(own.size(), numbers.size());
      for (std::size_t i = 0; i < own.size(); ++i)
        if (first.kind != Kind::broadcast || place == first.root) made[i] += own[i];
    }
    for (std::size_t place = 0; place < step.question.size(); ++place)
      if (first.kind != Kind::reduce || place == first.root)
        std::copy(made.begin(), made.end(), std::get<std::span<Value>>(step.question[place].numbers).begin());
  }

  std::shared_ptr<Group> find(GroupUse use, const std::vector<int>& ranks) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Group>& group = groups_[{use, ranks}];
    if (group == nullptr) group = std::make_shared<Group>(ranks.size());
    return group;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<GroupUse, std::vector<int>>, std::shared_ptr<Group>> groups_;
  std::string reason_;
};

}  // namespace dovetail::runtime
