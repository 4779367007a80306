// An asynchronous activity: it hands its work to something that calls back later, and occupies no thread meanwhile.
//
// A payment service takes calls and answers them from a thread of its own, and not before twenty have come. The worker
// has a single thread; with activities that wait for their answer it would never get beyond the first.
//
// It prints:
//   20 payments are open, with one worker thread
//   19 paid, 1 not: the card is empty
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPayments = 20;

// Stands for any API with callbacks: an HTTP client, a message bus, asio.
class PaymentService {
 public:
  using Callback = std::function<void(const std::string& problem)>;  // empty: it is paid

  void pay(int amount, Callback callback) {
    const std::scoped_lock lock(mutex_);
    calls_.emplace_back(amount, std::move(callback));
    changed_.notify_all();
  }

 private:
  using Calls = std::vector<std::pair<int, Callback>>;

  void serve(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return calls_.size() >= kPayments; })) {
      const Calls calls = std::exchange(calls_, {});
      lock.unlock();
      std::printf("%zu payments are open, with one worker thread\n", calls.size());
      for (const auto& [amount, callback] : calls) callback(amount == 13 ? "the card is empty" : "");
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  Calls calls_;
  std::jthread thread_{[this](const std::stop_token& stop) { serve(stop); }};  // the last member: ends first
};

perdure::Orchestration<std::string> collect(perdure::OrchestrationContext ctx) {
  std::vector<perdure::Future<void>> payments;
  payments.reserve(kPayments);
  for (std::size_t amount = 1; amount <= kPayments; ++amount) {
    payments.push_back(ctx.schedule_activity<void>("Pay", amount));
  }
  const auto results = co_await ctx.join(std::move(payments)).as_result();
  std::size_t paid = 0;
  std::string problems;
  for (const auto& result : results) {
    if (result) {
      ++paid;
    } else {
      problems += result.error().message();
    }
  }
  co_return std::to_string(paid) + " paid, " + std::to_string(results.size() - paid) + " not: " + problems;
}

int run() {
  PaymentService service;
  perdure::Registry registry;
  registry.add_orchestration("Collect", collect);
  // It returns at once. The handle completes the activity from any thread; the first outcome counts, and if the last
  // copy goes without one, the activity fails.
  registry.add_async_activity(
      "Pay", [&service](perdure::ActivityContext ctx, int amount, perdure::ActivityCompletion<void> handle) {
        service.pay(amount, [ctx = std::move(ctx), handle = std::move(handle)](const std::string& problem) {
          if (ctx.is_cancelled()) return;  // nobody wants the answer any more
          if (problem.empty()) {
            handle.complete();
          } else {
            handle.fail(problem, false);  // false: a RetryPolicy would not try again
          }
        });
      });

  const auto store = perdure::make_memory_provider();
  perdure::RuntimeOptions options;
  options.worker_concurrency = 1;
  const perdure::Runtime runtime(store, registry, options);
  const perdure::Client client(store);
  client.start_orchestration("collect-1", "Collect");
  const auto result = client.wait_for_orchestration("collect-1", 30s).result<std::string>();
  std::printf("%s\n", result.c_str());
  if (result != "19 paid, 1 not: the card is empty") throw std::runtime_error("that is not what should be paid");
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "async_activity: %s\n", error.what());
    return 1;
  }
}
