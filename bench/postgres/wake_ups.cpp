// How fast a node hears of work that another one has brought, and how much a node asks the server while there is none.
//
//   wake_ups path=URL [rounds=300] [poll_ms=200] [seconds=5]
#include <chrono>
#include <cstdio>
#include <exception>
#include <future>
#include <random>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../arguments.h"
#include "../percentile.h"
#include "fresh_store.h"

namespace {

using SteadyClock = std::chrono::steady_clock;

struct Arguments {
  std::string path;
  std::size_t rounds = 300;
  perdure::Milliseconds poll_interval{0};
  double seconds = 5;
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  std::size_t poll_ms = 200;
  bench::read_arguments(count, values,
                        {{"path", &arguments.path},
                         {"rounds", &arguments.rounds},
                         {"poll_ms", &poll_ms},
                         {"seconds", &arguments.seconds}});
  arguments.poll_interval = perdure::Milliseconds(poll_ms);
  if (!bench::is_postgres_url(arguments.path)) throw std::invalid_argument("path=URL of a PostgreSQL server is needed");
  if (arguments.rounds == 0) throw std::invalid_argument("at least one round is needed");
  return arguments;
}

perdure::PostgresOptions options_for(const Arguments& arguments) {
  perdure::PostgresOptions options;
  options.schema = "perdure_wake_ups";
  options.poll_interval = arguments.poll_interval;
  return options;
}

double milliseconds(SteadyClock::time_point from, SteadyClock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// ---- Wake-ups ----

// Waits for an instance again and again, and locks what it finds for so long that it is not found again.
class WaitingNode {
 public:
  explicit WaitingNode(std::shared_ptr<perdure::Provider> store) : store_(std::move(store)) {}

  void wait_once() {
    perdure::OrchestrationFetch fetch;
    fetch.limit = 16;
    fetch.lock_timeout = std::chrono::hours(24);
    fetch.with_history = false;
    about_to_wait_.release();
    const bool found =
        store_->wait_for_work({.orchestrations = fetch, .activities = {}}, store_->now() + std::chrono::minutes(1))
            .value();
    woken_at_ = SteadyClock::now();
    if (!found || store_->fetch_orchestration_items(fetch).value().items.empty()) {
      throw std::runtime_error("a wait ended without an instance");
    }
  }
  void until_it_waits() { about_to_wait_.acquire(); }
  [[nodiscard]] SteadyClock::time_point woken_at() const { return woken_at_; }

 private:
  std::shared_ptr<perdure::Provider> store_;
  std::binary_semaphore about_to_wait_{0};
  SteadyClock::time_point woken_at_;
};

void measure_wake_ups(const Arguments& arguments) {
  perdure::PostgresOptions options = options_for(arguments);
  options.poll_interval = std::chrono::minutes(10);  // what wakes is a notification
  bench::FreshStore fresh(arguments.path, options);
  std::vector<double> from_call;
  std::vector<double> from_return;
  std::mt19937 random(42);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run each time
  constexpr std::size_t kWarmUp = 20;
  WaitingNode node(fresh.connect());
  for (std::size_t round = 0; round < arguments.rounds + kWarmUp; ++round) {
    auto waiting = std::async(std::launch::async, [&node] { node.wait_once(); });
    node.until_it_waits();
    // Long enough for it to look and to go to sleep, and never in step with anything.
    std::this_thread::sleep_for(std::chrono::microseconds(10'000 + random() % 5'000));
    perdure::MessageRecord start;
    start.kind = perdure::MessageKind::kStartOrchestration;
    start.instance = "woken-" + std::to_string(round);
    start.name = "Woken";
    const SteadyClock::time_point called = SteadyClock::now();
    static_cast<void>(fresh.store()->enqueue_start(start, perdure::StartPolicy::kFail).value());
    const SteadyClock::time_point returned = SteadyClock::now();
    waiting.get();
    if (round < kWarmUp) continue;
    from_call.push_back(milliseconds(called, node.woken_at()));
    from_return.push_back(milliseconds(returned, node.woken_at()));
  }
  std::printf(
      "wake-up of a waiting node by a start of another one, %zu rounds: p50 %.2f ms, p99 %.2f ms from the call that "
      "starts; p50 %.2f ms, p99 %.2f ms from its return (bar: p50 at most 3 ms)\n",
      from_call.size(), bench::percentile(from_call, 0.5), bench::percentile(from_call, 0.99),
      bench::percentile(from_return, 0.5), bench::percentile(from_return, 0.99));
}

// ---- Idle nodes ----

// The transactions of a database, all of them: those who are counted have gone, and left their numbers.
class Transactions {
 public:
  explicit Transactions(const std::string& url)
      : database_(bench::Session(url).text("SELECT current_database()")),
        elsewhere_(url + (url.find('?') == std::string::npos ? "?" : "&") + "dbname=template1") {}

  [[nodiscard]] long count() {
    const std::string who = "datname = '" + database_ + "'";
    while (elsewhere_.text("SELECT count(*) FROM pg_stat_activity WHERE " + who) != "0") {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return std::stol(elsewhere_.text("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE " + who));
  }

 private:
  std::string database_;
  bench::Session elsewhere_;
};

struct Asked {
  long transactions = 0;
  long round_trips = 0;  // of the connections that calls share
};

// A node that waits for both kinds of work, as a Runtime does, and gets none.
Asked idle_for(const Arguments& arguments, double seconds, Transactions& transactions) {
  Asked asked;
  const long before = transactions.count();
  {
    bench::FreshStore fresh(arguments.path, options_for(arguments));
    const auto deadline = fresh.store()->now() + perdure::Milliseconds(static_cast<long>(1'000 * seconds));
    auto turns = std::async(std::launch::async, [&] {
      return fresh.store()->wait_for_work({.orchestrations = perdure::OrchestrationFetch(), .activities = {}},
                                          deadline);
    });
    auto work = std::async(std::launch::async, [&] {
      return fresh.store()->wait_for_work({.orchestrations = {}, .activities = perdure::WorkFetch()}, deadline);
    });
    if (turns.get().value() || work.get().value()) throw std::runtime_error("there is work in an empty store");
    asked.round_trips = static_cast<long>(fresh.round_trips());
  }
  asked.transactions = transactions.count() - before;
  return asked;
}

// The difference between a long and a short time is what the time alone costs.
void measure_idle(const Arguments& arguments) {
  Transactions transactions(arguments.path);
  const Asked little = idle_for(arguments, 1, transactions);
  const Asked more = idle_for(arguments, 1 + arguments.seconds, transactions);
  const double intervals = 1'000 * arguments.seconds / static_cast<double>(arguments.poll_interval.count());
  std::printf(
      "an idle node that polls every %ld ms: %.2f statements an interval (bar: at most 1), of them %.2f by waits "
      "themselves\n",
      static_cast<long>(arguments.poll_interval.count()),
      static_cast<double>(more.transactions - little.transactions) / intervals,
      static_cast<double>(more.round_trips - little.round_trips) / intervals);
}

}  // namespace

int main(int count, char** values) {
  try {
    const Arguments arguments = parse(count, values);
    measure_wake_ups(arguments);
    measure_idle(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
