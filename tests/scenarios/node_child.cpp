// The other process of the tests with several: a runtime on a store until everything has ended, or until it dies.
//   node_child batch <store>
//   node_child mixed <store> <journal> <point>   dies by SIGKILL at that point of its calls to the store; 0: never
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include <unistd.h>

#include <perdure/testing/forwarding_provider.h>
#include "scenarios/process_workflows.h"

namespace perdure::test {
namespace {

// Each call that changes the store has two points: before it, and after it.
class MortalProvider final : public testing::ForwardingProvider {
 public:
  MortalProvider(std::shared_ptr<Provider> inner, int point) : ForwardingProvider(std::move(inner)), point_(point) {}

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    return between([&] { return inner().fetch_orchestration_items(fetch); });
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    return between([&] { return inner().ack_orchestration_items(commits); });
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    return between([&] { return inner().fetch_work_items(fetch); });
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override {
    return between([&] { return inner().ack_work_items(acks); });
  }

 private:
  template <class Call>
  auto between(Call call) -> decltype(call()) {
    pass();
    auto answer = call();
    pass();
    return answer;
  }
  void pass() {
    if (++passed_ == point_) ::kill(::getpid(), SIGKILL);
  }

  int point_;
  std::atomic<int> passed_{0};
};

constexpr Milliseconds kLong{100'000};

void run_batch(const std::string& path) {
  const auto store = SqliteProvider::open(path);
  Runtime runtime(store, batch_registry());
  const Client client(store);
  for (int i = 0; i < kBatch; ++i) client.wait_for_orchestration(batch_instance(i), kLong);
}

void run_mixed(const std::string& path, const std::string& journal, int point) {
  const auto store = std::make_shared<MortalProvider>(SqliteProvider::open(path), point);
  Runtime runtime(store, mixed_registry(journal));
  Client(store).wait_for_orchestration("mixed", kLong);
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "batch") {
    run_batch(arguments[1]);
  } else if (arguments.size() == 4 && arguments[0] == "mixed") {
    run_mixed(arguments[1], arguments[2], std::stoi(arguments[3]));
  } else {
    std::fprintf(stderr, "this program belongs to the tests\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace perdure::test

int main(int argc, char** argv) {
  try {
    return perdure::test::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
