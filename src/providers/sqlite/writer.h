// The one thread that writes. Callers hand it jobs and wait; whatever has gathered while the last transaction was being
// committed goes into the next one together. Alone, a job is committed at once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <perdure/provider_error.h>
#include "providers/sqlite/connection.h"
#include "providers/sqlite/store.h"

namespace perdure::sqlite {

// Some parts that are done in order. Each either answers or fails alone; when one fails in the midst of writing, the
// others of its transaction are run again without it, so a part must not remember that it ran before.
struct Job {
  std::size_t parts = 1;
  // False: may be forgotten by a power cut (a lock, an attempt), though not by the end of the process.
  bool durable = true;
  std::function<void(Store&, std::size_t part)> run;
  std::function<void(std::size_t part, const ProviderError& error)> fail;
};

class Writer {
 public:
  struct Options {
    bool sync_commits = true;
    std::function<Timestamp()> now;
    std::function<void(const Changes&)> committed;  // called on the writer's thread
    std::function<void()> failed;                   // the store has failed for good; called once, on any thread
  };

  Writer(std::unique_ptr<Connection> connection, Store::Options store_options, Options options);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  // Finishes the jobs that were handed in.
  ~Writer();

  // Returns when every part has run and is committed, or has failed.
  void execute(Job& job);

  // Jobs that wait for the next transaction.
  [[nodiscard]] std::size_t waiting() const;
  // Transactions that have changed something, synced or not, for measurements.
  [[nodiscard]] std::uint64_t write_transactions() const noexcept { return write_transactions_; }
  // The file is in doubt: nothing is read or written any more.
  void fail_for_good(const ProviderError& error);
  [[nodiscard]] std::optional<ProviderError> failure() const;

 private:
  struct Waiting {
    Job* job = nullptr;
    bool done = false;
    std::condition_variable changed;
  };

  void work();
  [[nodiscard]] std::vector<Waiting*> next_group();
  void run_group(const std::vector<Waiting*>& group);
  // Throws what went wrong, after rolling back.
  void transaction(bool durable, const std::function<void()>& body);
  // Copies what the log has collected into the file, once it is worth it.
  void checkpoint();
  void fail_all(const std::vector<Waiting*>& group, const ProviderError& error);
  void set_durable(bool durable);

  std::unique_ptr<Connection> connection_;
  Store store_;
  Options options_;
  bool durable_ = true;  // how SQLite commits now
  std::atomic<std::uint64_t> write_transactions_ = 0;

  mutable std::mutex mutex_;
  std::atomic<bool> has_failed_ = false;
  std::optional<ProviderError> failed_;
  std::condition_variable arrived_;
  std::vector<Waiting*> queue_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses everything above
};

}  // namespace perdure::sqlite
