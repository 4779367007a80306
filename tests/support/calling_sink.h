// CallingSink: a log sink that uses the store whose jump it receives, as a user's may. It calls the store on another
// thread. If the store logs under a lock or in a transaction, those calls do not return before the sink does.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <perdure/client.h>
#include <perdure/log.h>
#include <perdure/provider.h>

namespace perdure::test {

class CallingSink final : public LogSink {
 public:
  // What it calls. Not owned: the store has the sink.
  void use(const std::shared_ptr<Provider>& store) {
    const std::scoped_lock guard(mutex_);
    store_ = store;
  }

  void write(const LogRecord& record) override {
    std::string jump;
    for (const LogField& field : record.fields) jump += field.key == "jump_ms" ? field.value : "";
    if (jump.empty()) return;
    std::shared_ptr<Provider> store = note(jump);
    if (!store) return;
    // The call owns its store until it returns, and not until the sink, which the store owns, forgets the call.
    std::future<void> call = std::async(std::launch::async, [store, name = jump + " of " + next_name()]() mutable {
      const std::shared_ptr<Provider> used = std::move(store);
      static_cast<void>(used->now());
      Client(used).start_orchestration(name, "Flow");
    });
    const bool returned = call.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
    const std::scoped_lock guard(mutex_);
    if (!returned) ++blocked_;
    calls_.push_back(std::move(call));
  }

  // The sizes of the jumps, in order, each with a blank behind it. They are forgotten.
  [[nodiscard]] std::string take_jumps() {
    const std::scoped_lock guard(mutex_);
    return std::exchange(jumps_, {});
  }
  // How many calls did not return before the sink did.
  [[nodiscard]] int blocked() const {
    const std::scoped_lock guard(mutex_);
    return blocked_;
  }

 private:
  std::shared_ptr<Provider> note(const std::string& jump) {
    const std::scoped_lock guard(mutex_);
    jumps_ += jump + " ";
    return store_.lock();
  }
  std::string next_name() {
    const std::scoped_lock guard(mutex_);
    return std::to_string(++names_);
  }

  mutable std::mutex mutex_;
  std::weak_ptr<Provider> store_;
  std::string jumps_;
  int names_ = 0;
  int blocked_ = 0;
  std::vector<std::future<void>> calls_;
};

}  // namespace perdure::test
