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
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <perdure/provider_error.h>
#include "providers/sqlite/connection.h"
#include "providers/sqlite/store.h"
#include "providers/sqlite/transaction_load.h"

namespace perdure::sqlite {

// Some parts that are done in order. Each succeeds or fails alone. When one fails in the midst of writing, the others
// of its transaction run once more, each with a savepoint, so a part must not remember that it ran before.
struct Job {
  std::size_t parts = 1;
  std::size_t bytes = 0;  // of the values in all parts
  // False: may be forgotten by a power cut (a lock, an attempt), though not by the end of the process.
  bool durable = true;
  std::function<void(Store&, std::size_t part)> run;
  std::function<void(std::size_t part, const ProviderError& error)> fail;
};

class Writer {
 public:
  struct Options {
    bool sync_commits = true;
    std::function<Timestamp(Connection&)> begin_time;              // the time of a transaction that has just begun
    std::function<void(Connection&, bool has_changes)> save_time;  // before the end of each transaction
    std::function<void(Store&)> begun;                             // called first in each transaction; may be empty
    // Called after each commit, before its jobs end; an error fails them and the store for good. May be empty.
    std::function<std::optional<ProviderError>()> verify;
    std::function<void(const Changes&)> committed;  // called on the writer's thread
    std::function<void()> failed;                   // the store has failed for good; called once, on any thread
  };

  Writer(std::unique_ptr<Connection> connection, Store::Options store_options, Options options);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  // Finishes the jobs that were handed in.
  ~Writer();

  // Returns when every part has run and is committed, or has failed. Effects that the parts deferred run on the thread
  // of the caller, after the commit.
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
    std::vector<std::function<void()>> effects;
    std::condition_variable changed;
  };
  // The part that runs; `job` is null before the first and after the last one of a transaction.
  struct Position {
    Job* job = nullptr;
    std::size_t part = 0;
  };
  using Parts = std::set<std::pair<const Job*, std::size_t>>;

  void work();
  [[nodiscard]] std::vector<Waiting*> next_group();
  void run_group(const std::vector<Waiting*>& group);
  // Runs the parts that are not in `failed`. With `guarded`, a part that fails is undone alone and added to `failed`.
  void run_parts(const std::vector<Waiting*>& group, bool guarded, Position& position, Parts& failed);
  // Throws only errors that concern the whole transaction; returns the error of a part that was undone.
  [[nodiscard]] std::optional<ProviderError> run_guarded(const Position& position);
  // Throws what went wrong, after rolling back.
  void transaction(bool durable, const std::function<void()>& body);
  // Copies what the log has collected into the file, once it is worth it or the disk is full.
  void checkpoint();
  void fail_all(const std::vector<Waiting*>& group, const ProviderError& error);
  void set_durable(bool durable);

  std::unique_ptr<Connection> connection_;
  Store store_;
  Options options_;
  bool durable_ = true;  // how SQLite commits now
  bool disk_was_full_ = false;
  int restart_from_ = 0;  // pages of the log from which a checkpoint waits for readers
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
