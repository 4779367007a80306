// A node in a process whose memory runs out for a moment: one chosen allocation fails, the next succeeds. Writes
// "completed" once the workflow has, else what went wrong; aborts where C++ leaves nothing else.
//
//   node PATH N         the N-th allocation on any thread of the node; 0: none
//   call NAME PATH N    the N-th in a call to the store, on the thread that makes it
//   code PLACE PATH N   the N-th in the user's code: "activity", "orchestration", "encode" or "decode"
//   open PATH N         the N-th while the store is opened
//   limit PATH KIB      opens the store with so much more address space than the process has
#include <fstream>
#include <functional>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <perdure/perdure.h>
#include <perdure/sqlite_provider.h>
#include <perdure/testing/forwarding_provider.h>
#include "hostile_world/failing_allocations.h"

namespace perdure::test {

struct Parcel {
  std::string text;
};

bool g_counts_encoding = false;
bool g_counts_decoding = false;

}  // namespace perdure::test

template <>
struct perdure::Codec<perdure::test::Parcel> {
  static std::string encode(const perdure::test::Parcel& parcel) {
    if (!perdure::test::g_counts_encoding) return parcel.text;
    const perdure::test::Counted counted;
    return parcel.text + std::string(100, ' ');
  }
  static perdure::test::Parcel decode(std::string_view bytes) {
    bytes = bytes.substr(0, bytes.find(' '));
    if (!perdure::test::g_counts_decoding) return {std::string(bytes)};
    const perdure::test::Counted counted;
    return {std::string(100, ' ').substr(100) + std::string(bytes)};
  }
};

namespace perdure::test {
namespace {

class CountedCalls final : public testing::ForwardingProvider {
 public:
  CountedCalls(std::shared_ptr<Provider> inner, std::string call)
      : ForwardingProvider(std::move(inner)), call_(std::move(call)) {}

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    return counted("fetch", [&] { return inner().fetch_orchestration_items(fetch); });
  }
  ProviderResult<StoredHistory> read_history(const LockToken& token, EventId after) override {
    return counted("read", [&] { return inner().read_history(token, after); });
  }
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    return counted("commit", [&] { return inner().ack_orchestration_items(commits); });
  }
  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    return counted("fetch work", [&] { return inner().fetch_work_items(fetch); });
  }
  std::vector<ProviderResult<void>> ack_work_items(std::span<const WorkAck> acks) override {
    return counted("ack", [&] { return inner().ack_work_items(acks); });
  }
  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override {
    return counted("wait", [&] { return inner().wait_for_work(wait, deadline); });
  }

 private:
  template <class Call>
  auto counted(const std::string& name, Call call) -> decltype(call()) {
    if (name != call_) return call();
    const Counted here;
    return call();
  }

  std::string call_;
};

// `place`: where the allocations of the user's code count.
Registry registry(const std::string& place) {
  g_counts_encoding = place == "encode";
  g_counts_decoding = place == "decode";
  const auto in = [place](const char* here, const std::function<std::string()>& code) {
    if (place != here) return code();
    const Counted counted;
    return code();
  };
  Registry registry;
  registry.add_activity("Say", [in](ActivityContext&, const Parcel& what) {
    return Parcel{in("activity", [&] { return what.text + std::string("-said-by-an-activity"); })};
  });
  registry.add_orchestration("Child", [in](OrchestrationContext ctx, Parcel what) -> Orchestration<Parcel> {
    co_return co_await ctx.schedule_activity<Parcel>("Say", what);
  });
  registry.add_orchestration("Parent", [in](OrchestrationContext ctx) -> Orchestration<Parcel> {
    RetryPolicy retry(3);
    retry.backoff(Backoff::fixed(Milliseconds(1)));
    Parcel said;
    for (int turn = 0; turn < 4; ++turn) {
      const Parcel question{"question-" + std::to_string(turn)};
      said = co_await ctx.schedule_activity<Parcel>("Say", question, ActivityOptions().retry(retry));
      said.text = in("orchestration", [&] { return said.text + std::string("-and-heard-by-an-orchestration"); });
      ctx.set_custom_status(said.text);
    }
    co_await ctx.schedule_timer(Milliseconds(1));
    co_return co_await ctx.schedule_sub_orchestration<Parcel>("Child", said);
  });
  return registry;
}

void run_node(const std::shared_ptr<Provider>& store, const std::string& place, long count, bool all_threads) {
  const Client client(store);
  client.start_orchestration("i", "Parent", StartInstanceOptions().policy(StartPolicy::kIgnore));
  RuntimeOptions options;
  options.cached_executions = 1;  // so that histories are read
  Runtime runtime(store, registry(place), options);
  g_left = count - 1;
  g_all_count = all_threads;
  // The main thread may wait only: what it allocates counts as well.
  OrchestrationStatus status;
  for (int tries = 0; tries < 100; ++tries) {
    try {
      status = client.wait_for_orchestration("i", Milliseconds(20'000));
      break;
    } catch (const std::bad_alloc&) {
      continue;
    } catch (const ClientError& error) {
      if (error.kind() == ClientErrorKind::kTimeout) break;
    }
  }
  g_left = -1;
  std::cout << (status.completed() ? "completed" : "not completed: " + status.error_text()) << std::endl;
}

void open_store(const std::string& path, long count) {
  g_left = count - 1;
  t_counts = true;
  const auto end = [&](const std::string& text) {
    t_counts = false;
    std::cout << text << std::endl;
  };
  try {
    (void)SqliteProvider::open(path);
    end(g_left < 0 ? "opened nevertheless" : "opened");
  } catch (const ProviderFailure& failure) {
    end(failure.error().kind() == ProviderErrorKind::kUnavailable ? "refused" : failure.what());
  } catch (const std::exception& error) {
    end(error.what());
  }
}

void limit_memory(rlim_t more) {
  std::ifstream pages("/proc/self/statm");
  rlim_t used = 0;
  pages >> used;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = used * 4'096 + more;
  ::setrlimit(RLIMIT_AS, &limit);
}

void open_with(const std::string& path, rlim_t memory) {
  limit_memory(memory);
  try {
    (void)SqliteProvider::open(path);
    std::cout << "opened" << std::endl;
  } catch (const ProviderFailure& failure) {
    std::cout << (failure.error().kind() == ProviderErrorKind::kUnavailable ? "refused" : failure.what()) << std::endl;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
  }
}

int run(const std::vector<std::string>& a) {
  if (a.size() == 3 && a[0] == "node") {
    run_node(SqliteProvider::open(a[1]), "", std::stol(a[2]), true);
  } else if (a.size() == 4 && a[0] == "call") {
    run_node(std::make_shared<CountedCalls>(SqliteProvider::open(a[2]), a[1]), "", std::stol(a[3]), false);
  } else if (a.size() == 4 && a[0] == "code") {
    run_node(SqliteProvider::open(a[2]), a[1], std::stol(a[3]), false);
  } else if (a.size() == 3 && a[0] == "open") {
    open_store(a[1], std::stol(a[2]));
  } else if (a.size() == 3 && a[0] == "limit") {
    open_with(a[1], static_cast<rlim_t>(std::stol(a[2])) << 10U);
  } else {
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace perdure::test

int main(int argc, char** argv) {
  return perdure::test::run({argv + 1, argv + argc});
}
