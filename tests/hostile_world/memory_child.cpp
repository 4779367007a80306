// A node in a process whose memory runs out for a moment: one chosen allocation fails, the next succeeds. Writes
// "completed" once the workflow has, else what went wrong; aborts where C++ leaves nothing else. STORE is a path, or
// "SCHEMA@URL" of a PostgreSQL server.
//
//   node PATH N         the N-th allocation on any thread of the node; 0: none
//   call NAME STORE N   the N-th in a call to the store, on the thread that makes it
//   code PLACE PATH N   the N-th in the user's code: "activity", "orchestration", "encode" or "decode"
//   fetch STORE         each allocation in a fetch, one fetch after the other; "released" if the next one finds all
//   open STORE N        the N-th while the store is opened
//   limit PATH KIB      opens the store with so much more address space than the process has
#include <atomic>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>
#include <perdure/sqlite_provider.h>
#include <perdure/testing/forwarding_provider.h>
#include "hostile_world/failing_allocations.h"
#include "model/message_codec.h"
#include "providers/postgres/postgres_store.h"
#include "providers/sqlite/sqlite_store.h"

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

std::atomic<bool> g_store_threw = false;

// Calls `begin` before the provider is asked.
std::shared_ptr<Provider> open(const std::string& store, const std::function<void()>& begin = [] {}) {
  const std::size_t at = store.find('@');
  PostgresOptions options;
  options.schema = store.substr(0, at);
  const std::string url = at == std::string::npos ? "" : store.substr(at + 1);
  begin();
  if (at == std::string::npos) return SqliteProvider::open(store);
  return PostgresProvider::connect(url, options);
}

// What the store still counts as waits in progress.
std::size_t waiters(Provider& store) {
  if (auto* const postgres = dynamic_cast<postgres::PostgresStore*>(&store)) return postgres->waiters();
  return dynamic_cast<sqlite::SqliteStore&>(store).waiters();
}

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
    try {
      return call();
    } catch (const std::bad_alloc&) {
      g_store_threw = true;
      throw;
    }
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

void run_node(const std::shared_ptr<Provider>& store, const std::string& call, const std::string& place, long count,
              bool all_threads) {
  OrchestrationStatus status;
  {
    const Client client(store);
    client.start_orchestration("i", "Parent", StartInstanceOptions().policy(StartPolicy::kIgnore));
    RuntimeOptions options;
    options.cached_executions = 1;  // so that histories are read
    const auto counted = call.empty() ? store : std::make_shared<CountedCalls>(store, call);
    Runtime runtime(counted, registry(place), options);
    g_left = count - 1;
    g_all_count = all_threads;
    // The main thread may wait only: what it allocates counts as well.
    for (int tries = 0; tries < 100; ++tries) {
      try {
        status = client.wait_for_orchestration("i", Milliseconds(80'000));
        break;
      } catch (const std::bad_alloc&) {
        continue;
      } catch (const ClientError& error) {
        if (error.kind() == ClientErrorKind::kTimeout) break;
        if (error.kind() != ClientErrorKind::kStore) throw;
      }
    }
    g_left = -1;
  }
  if (!status.completed()) {
    std::cout << "not completed: " << status.error_text() << std::endl;
  } else if (g_store_threw) {
    std::cout << "completed, but the store threw" << std::endl;
  } else if (waiters(*store) != 0) {
    std::cout << "completed, but the store counts " << waiters(*store) << " waiters" << std::endl;
  } else {
    std::cout << "completed" << std::endl;
  }
}

struct Locked {
  LockToken token;
  std::uint32_t attempts = 0;
};

template <class Call>
auto counted(Call call) {
  const Counted counted;
  return call();
}

// Fails one allocation of a fetch after the other, until a fetch has none left to fail. There is one item to lock.
std::string fetch_in_shortage(const std::function<ProviderResult<std::vector<Locked>>()>& fetch,
                              const std::function<ProviderResult<void>(const Abandon&)>& abandon) {
  for (long number = 0;; ++number) {
    g_left = number;
    const ProviderResult<std::vector<Locked>> found = fetch();
    const bool failed = g_left.exchange(-1) < 0;
    const std::string where = "allocation " + std::to_string(number + 1) + ": ";
    if (!found) {
      if (found.error().kind() != ProviderErrorKind::kUnavailable) return where + found.error().to_string();
      continue;
    }
    if (found->size() != 1) return where + "the item stayed locked";
    if (found->front().attempts != 1) return where + "an attempt was counted";
    if (!abandon(Abandon{.token = found->front().token, .ignore_attempt = true})) return where + "not abandoned";
    if (!failed) return "released";
  }
}

std::string fetch_all(const std::shared_ptr<Provider>& store) {
  constexpr Milliseconds kLong{600'000};
  const std::string text(200, 'x');
  Client(store).start_orchestration("i", "Parent", text);
  messages::ExecuteActivity activity;
  activity.schedule_id = 1;
  activity.name = "Say";
  activity.input = text;
  const MessageRecord record = encode_message({"i", kFirstExecutionId, std::nullopt, std::move(activity)});
  store->enqueue_activities(std::span(&record, 1)).front().value();
  const std::string instances = fetch_in_shortage(
      [&]() -> ProviderResult<std::vector<Locked>> {
        OrchestrationFetch fetch;
        fetch.lock_timeout = kLong;
        const auto batch = counted([&] { return store->fetch_orchestration_items(fetch); });
        if (!batch) return batch.error();
        std::vector<Locked> locked;
        for (const auto& item : batch->items) locked.push_back({item.token, item.attempt_count});
        return locked;
      },
      [&](const Abandon& abandon) { return store->abandon_orchestration_items(std::span(&abandon, 1)).front(); });
  const std::string activities = fetch_in_shortage(
      [&]() -> ProviderResult<std::vector<Locked>> {
        WorkFetch fetch;
        fetch.lock_timeout = kLong;
        const auto batch = counted([&] { return store->fetch_work_items(fetch); });
        if (!batch) return batch.error();
        std::vector<Locked> locked;
        for (const auto& item : batch->items) locked.push_back({item.token, item.attempt_count});
        return locked;
      },
      [&](const Abandon& abandon) { return store->abandon_work_items(std::span(&abandon, 1)).front(); });
  if (instances == activities) return instances;
  return "instances: " + instances + "; activities: " + activities;
}

void open_store(const std::string& store, long count) {
  const auto end = [&](const std::string& text) {
    t_counts = false;
    std::cout << text << std::endl;
  };
  try {
    (void)open(store, [count] {
      g_left = count - 1;
      t_counts = true;
    });
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
    run_node(open(a[1]), "", "", std::stol(a[2]), true);
  } else if (a.size() == 4 && a[0] == "call") {
    run_node(open(a[2]), a[1], "", std::stol(a[3]), false);
  } else if (a.size() == 4 && a[0] == "code") {
    run_node(open(a[2]), "", a[1], std::stol(a[3]), false);
  } else if (a.size() == 2 && a[0] == "fetch") {
    std::cout << fetch_all(open(a[1])) << std::endl;
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
