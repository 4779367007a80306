// Two runtimes under a mixed workload for a long time: does everything finish with the right result, is no lock ever
// given out twice, and does memory stay where it is?
//
//   soak [seconds=600] [drivers=4] [batch=16] [restart=30] [seed=1] [store=FILE]
//
// The drivers start batches of workflows, signal or cancel them, wait for their ends, compare the results, and delete
// them. One runtime after the other is restarted every `restart` seconds (0: never). Memory is read after a fifth of
// the time and at the end. The exit code is 0 if all is well.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <malloc.h>

#include "../arguments.h"
#include "lock_watch.h"
#include "workload.h"

namespace perdure::soak {

namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

struct Arguments {
  unsigned seconds = 600;
  unsigned drivers = 4;
  unsigned batch = 16;
  unsigned restart = 30;
  unsigned seed = 1;
  std::string store = "soak.db";
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  bench::read_arguments(count, values,
                        {{"seconds", &arguments.seconds},
                         {"drivers", &arguments.drivers},
                         {"batch", &arguments.batch},
                         {"restart", &arguments.restart},
                         {"seed", &arguments.seed},
                         {"store", &arguments.store}});
  return arguments;
}

// A hundred threads, made anew with each restart, spread what is free over many arenas of the C library, and that grows
// for a long time after the engine has stopped to. So what is free is given back first: what is left, somebody holds.
std::size_t resident_kilobytes() {
  malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kilobytes = 0;
    if (word == "VmRSS:" && status >> kilobytes) return kilobytes;
  }
  throw std::runtime_error("the resident memory cannot be read from /proc/self/status");
}

std::size_t heap_kilobytes_in_use() {
  return mallinfo2().uordblks / 1024;
}

// What went wrong, from any thread.
class Complaints {
 public:
  void add(std::string text) {
    const std::scoped_lock lock(mutex_);
    if (texts_.size() < kMost) texts_.push_back(std::move(text));
  }
  [[nodiscard]] std::vector<std::string> all() const {
    const std::scoped_lock lock(mutex_);
    return texts_;
  }

 private:
  static constexpr std::size_t kMost = 20;
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

// Starts workflows of all kinds and sees them through.
class Driver {
 public:
  Driver(const std::shared_ptr<Provider>& store, unsigned number, const Arguments& arguments, Complaints& complaints)
      : client_(store),
        prefix_("d" + std::to_string(number) + "-"),
        batch_(arguments.batch),
        random_(arguments.seed * 1'000 + number),
        complaints_(complaints) {}

  void run_until(SteadyClock::time_point end) {
    try {
      while (SteadyClock::now() < end) run_batch();
    } catch (const std::exception& error) {
      complaints_.add(prefix_ + " gave up: " + error.what());
    }
  }
  [[nodiscard]] std::size_t finished() const { return finished_; }

 private:
  struct Started {
    std::string id;
    std::function<void(const OrchestrationStatus&)> check;
  };

  void run_batch() {
    std::vector<Started> batch;
    std::vector<std::string> orders;
    std::vector<std::string> to_cancel;
    for (unsigned i = 0; i < batch_; ++i) {
      std::string id = prefix_ + std::to_string(next_++);
      const int n = static_cast<int>(random_() % 1'000);
      switch (random_() % 4) {
        case 0:
          client_.start_orchestration(id, "Order", n);
          orders.push_back(id);
          batch.push_back({id, result_is(result_of_order(n))});
          break;
        case 1: {
          const int rounds = 1 + n % 4;
          client_.start_orchestration(id, "Rounds", rounds);
          for (int message = 0; message < rounds * kMessagesOfARound; ++message) {
            client_.enqueue_event(id, "numbers", 1);
          }
          batch.push_back({id, result_is(result_of_rounds(rounds))});
          break;
        }
        case 2:
          client_.start_orchestration(id, "Flaky", n);
          batch.push_back({id, result_is(result_of_flaky(n))});
          break;
        default:
          client_.start_orchestration(id, "Endless", n % 3);
          to_cancel.push_back(id);
          batch.push_back({id, [this, id](const OrchestrationStatus& status) {
                             if (status.state != OrchestrationState::kCancelled) complain(id, status);
                           }});
      }
    }
    for (const std::string& id : to_cancel) client_.cancel_instance(id);
    for (const std::string& id : orders) approve(id);
    for (const Started& started : batch) {
      started.check(client_.wait_for_orchestration(started.id, 120s));
      ++finished_;
    }
    for (const Started& started : batch) erase(started.id);
  }

  // An event reaches only those who wait for it.
  void approve(const std::string& id) {
    auto status = client_.wait_for_status_change(id, 0, 120s);
    while (!status.ended() && status.custom_status != kWaiting) {
      status = client_.wait_for_status_change(id, status.custom_status_version, 120s);
    }
    client_.raise_event(id, "approve", 7);
  }

  // A cancelled child ends after its parent.
  void erase(const std::string& id) {
    const auto patience = SteadyClock::now() + 120s;
    for (;;) {
      try {
        client_.delete_instance(id);
        return;
      } catch (const ClientError& error) {
        if (error.kind() != ClientErrorKind::kStillRunning || SteadyClock::now() > patience) throw;
      }
      std::this_thread::sleep_for(5ms);
    }
  }

  [[nodiscard]] std::function<void(const OrchestrationStatus&)> result_is(int expected) {
    return [this, expected](const OrchestrationStatus& status) {
      if (!status.completed()) return complain("a workflow", status);
      if (const int result = status.result<int>(); result != expected) {
        complaints_.add(status.name + " came to " + std::to_string(result) + " instead of " + std::to_string(expected));
      }
    };
  }
  void complain(const std::string& id, const OrchestrationStatus& status) {
    complaints_.add(id + " (" + status.name + ") ended in state " + std::string(to_string(status.state)) + ": " +
                    status.error_text());
  }

  Client client_;
  std::string prefix_;
  unsigned batch_;
  std::mt19937 random_;
  Complaints& complaints_;
  std::uint64_t next_ = 0;
  std::atomic<std::size_t> finished_ = 0;
};

std::unique_ptr<Runtime> start_runtime(const std::shared_ptr<Provider>& store, std::size_t number) {
  RuntimeOptions options;
  options.worker_concurrency = 48;  // "Busy" ones occupy a thread until they are cancelled
  options.worker_node_id = "node " + std::to_string(number);
  options.worker_tag_filter = number == 0 ? TagFilter::untagged() : TagFilter::untagged_and({"gpu"});
  return std::make_unique<Runtime>(store, registry(), options);
}

int soak_for(const Arguments& arguments) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(arguments.store + suffix);
  const auto watch = std::make_shared<LockWatch>(SqliteProvider::open(arguments.store));
  std::vector<std::unique_ptr<Runtime>> runtimes;
  runtimes.reserve(2);
  for (std::size_t i = 0; i < 2; ++i) runtimes.push_back(start_runtime(watch, i));

  Complaints complaints;
  const auto begin = SteadyClock::now();
  const auto end = begin + std::chrono::seconds(arguments.seconds);
  std::vector<std::unique_ptr<Driver>> drivers;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < arguments.drivers; ++i) {
    drivers.push_back(std::make_unique<Driver>(watch, i, arguments, complaints));
    threads.emplace_back([driver = drivers.back().get(), end] { driver->run_until(end); });
  }

  std::size_t early_memory = 0;
  unsigned restarts = 0;
  for (unsigned second = 1; second <= arguments.seconds; ++second) {
    std::this_thread::sleep_until(begin + std::chrono::seconds(second));
    if (early_memory == 0 && second >= arguments.seconds / 5) early_memory = resident_kilobytes();
    if (arguments.restart > 0 && second % arguments.restart == 0 && second < arguments.seconds) {
      const std::size_t which = restarts++ % runtimes.size();
      runtimes[which]->shutdown();
      runtimes[which] = start_runtime(watch, which);
    }
    if (second % 30 == 0 || second == arguments.seconds) {
      std::size_t finished = 0;
      for (const auto& driver : drivers) finished += driver->finished();
      std::printf("%4u s: %zu workflows, %zu locks, %zu KB resident, %zu KB of heap in use, %zu complaints\n", second,
                  finished, watch->locks(), resident_kilobytes(), heap_kilobytes_in_use(), complaints.all().size());
      std::fflush(stdout);
    }
  }
  const std::size_t late_memory = resident_kilobytes();
  for (std::thread& thread : threads) thread.join();
  for (auto& runtime : runtimes) runtime->shutdown();

  const Client client(watch);
  if (const auto left = client.list_all_instances(); !left.empty()) {
    complaints.add(std::to_string(left.size()) + " instances are left, the first is " + left.front());
  }
  if (const QueueDepths depths = client.get_queue_depths(); depths != QueueDepths{}) {
    complaints.add(
        "the queues are not empty: " + std::to_string(depths.messages + depths.delayed_messages) + " messages, " +
        std::to_string(depths.activities + depths.locked_activities + depths.delayed_activities) + " activities");
  }
  for (const std::string& violation : watch->violations()) complaints.add(violation);

  const double growth = static_cast<double>(late_memory) / static_cast<double>(std::max<std::size_t>(early_memory, 1));
  std::printf("memory: %zu KB after a fifth of the time, %zu KB at the end: %.2f times (bar: 1.1)\n", early_memory,
              late_memory, growth);
  std::printf("locks given out twice: %zu of %zu; restarts of a runtime: %u\n", watch->violations().size(),
              watch->locks(), restarts);
  for (const std::string& complaint : complaints.all()) std::printf("WRONG: %s\n", complaint.c_str());
  return complaints.all().empty() ? 0 : 1;
}

}  // namespace

int run(int count, char** values) {
  return soak_for(parse(count, values));
}

}  // namespace perdure::soak

int main(int count, char** values) {
  try {
    return perdure::soak::run(count, values);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "soak: %s\n", error.what());
    return 2;
  }
}
