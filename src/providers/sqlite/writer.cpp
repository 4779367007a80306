#include "providers/sqlite/writer.h"

#include <exception>
#include <new>
#include <utility>

#include <sqlite3.h>

#include "providers/thread_cancellation.h"

namespace perdure::sqlite {

namespace {

// The log is copied into the file in larger steps than SQLite's own: fewer stops, and pages that change often are
// copied less often.
constexpr int kPagesPerCheckpoint = 4'000;

// These concern the file, not the operation that met them: doing the parts one by one would only meet them again.
bool concerns_store(const std::exception& error) noexcept {
  const auto* sqlite_error = dynamic_cast<const SqliteError*>(&error);
  if (sqlite_error == nullptr) return false;
  switch (sqlite_error->code() & 0xFF) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return true;
    default:
      return false;
  }
}

ProviderError describe_failed_part(const std::exception& error) {
  if (const auto* sqlite_error = dynamic_cast<const SqliteError*>(&error)) return as_provider_error(*sqlite_error);
  if (const auto* operation = dynamic_cast<const OperationFailed*>(&error)) return operation->error();
  if (const auto* failure = dynamic_cast<const ProviderFailure*>(&error)) return failure->error();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {ProviderErrorKind::kUnavailable, "out of memory; nothing was written"};
  }
  return {ProviderErrorKind::kStoreFailed, std::string("internal error in the store: ") + error.what()};
}

}  // namespace

Writer::Writer(std::unique_ptr<Connection> connection, Store::Options store_options, Options options)
    : connection_(std::move(connection)), store_(*connection_, std::move(store_options)), options_(std::move(options)) {
  durable_ = !options_.sync_commits;  // so that the next line takes effect
  set_durable(options_.sync_commits);
  thread_ = std::thread([this] { work(); });
}

Writer::~Writer() {
  {
    const std::scoped_lock guard(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

void Writer::execute(Job& job) {
  Waiting waiting;
  waiting.job = &job;
  std::unique_lock lock(mutex_);
  queue_.push_back(&waiting);
  if (queue_.size() == 1) arrived_.notify_one();
  waiting.changed.wait(lock, [&waiting] { return waiting.done; });
  lock.unlock();
  for (const std::function<void()>& effect : waiting.effects) effect();
}

std::size_t Writer::waiting() const {
  const std::scoped_lock guard(mutex_);
  return queue_.size();
}

void Writer::work() {
  disable_thread_cancellation();
  for (;;) {
    std::vector<Waiting*> group;
    try {
      group = next_group();
    } catch (const std::bad_alloc&) {  // the jobs are still in the queue
      std::this_thread::yield();
      continue;
    }
    if (group.empty()) return;
    run_group(group);
    {
      const std::scoped_lock guard(mutex_);
      for (Waiting* waiting : group) {
        waiting->done = true;
        waiting->changed.notify_one();  // under the mutex: the caller owns the condition and may be gone behind it
      }
    }
    checkpoint();
  }
}

std::vector<Writer::Waiting*> Writer::next_group() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  std::vector<Waiting*> group;
  TransactionLoad load;
  for (Waiting* waiting : queue_) {
    if (!load.add(waiting->job->parts, waiting->job->bytes)) break;
    group.push_back(waiting);
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(group.size()));
  return group;
}

// The first failure costs one more run of the group, with a savepoint for each part; further failures cost nothing
// more.
void Writer::run_group(const std::vector<Waiting*>& group) {
  bool durable = false;
  for (const Waiting* waiting : group) durable = durable || waiting->job->durable;
  Parts failed;
  bool guarded = false;
  bool made_room = false;
  while (!has_failed_) {
    Position position;
    try {
      transaction(durable, [&] { run_parts(group, guarded, position, failed); });
      return;
    } catch (const std::exception& error) {
      const ProviderError shown = describe_failed_part(error);
      if (position.job == nullptr || concerns_store(error)) {
        disk_was_full_ = shown.kind() == ProviderErrorKind::kDiskFull;
        if (disk_was_full_ && !std::exchange(made_room, true)) {
          checkpoint();  // the log may be all that fills it
          continue;
        }
        const bool is_sqlite = dynamic_cast<const SqliteError*>(&error) != nullptr;
        if (is_sqlite && shown.kind() == ProviderErrorKind::kStoreFailed) fail_for_good(shown);
        fail_all(group, shown);
        return;
      }
      position.job->fail(position.part, shown);
      failed.emplace(position.job, position.part);
      guarded = true;
    }
  }
  fail_all(group, *failure());
}

void Writer::run_parts(const std::vector<Waiting*>& group, bool guarded, Position& position, Parts& failed) {
  for (Waiting* waiting : group) {
    position.job = waiting->job;
    for (position.part = 0; position.part < position.job->parts; ++position.part) {
      if (failed.contains({position.job, position.part})) continue;
      if (!guarded) {
        position.job->run(store_, position.part);
      } else if (const std::optional<ProviderError> error = run_guarded(position)) {
        position.job->fail(position.part, *error);
        failed.emplace(position.job, position.part);
      }
    }
    waiting->effects = store_.take_effects();
  }
  position.job = nullptr;
}

std::optional<ProviderError> Writer::run_guarded(const Position& position) {
  connection_->run("SAVEPOINT part");
  const std::size_t effects = store_.effects();
  try {
    position.job->run(store_, position.part);
    connection_->run("RELEASE part");
    return std::nullopt;
  } catch (const std::exception& error) {
    // Some errors have ended the whole transaction.
    if (concerns_store(error) || !connection_->in_transaction()) throw;
    connection_->run("ROLLBACK TO part");
    connection_->run("RELEASE part");
    store_.undo(effects);
    return describe_failed_part(error);
  }
}

void Writer::transaction(bool durable, const std::function<void()>& body) {
  try {
    set_durable(durable);
    connection_->run("BEGIN IMMEDIATE");
    const std::int64_t changes = connection_->total_changes();
    store_.begin(options_.begin_time(*connection_));
    if (options_.begun) options_.begun(store_);
    body();
    options_.save_time(*connection_, connection_->total_changes() != changes);
    connection_->run("COMMIT");
    if (connection_->total_changes() != changes) ++write_transactions_;
    disk_was_full_ = false;
  } catch (...) {
    // Some errors have ended the transaction already.
    if (connection_->in_transaction()) connection_->execute("ROLLBACK");
    throw;
  }
  if (const std::optional<ProviderError> problem = options_.verify ? options_.verify() : std::nullopt) {
    fail_for_good(*problem);
    throw ProviderFailure(*problem);
  }
  options_.committed(store_.changes());
}

void Writer::checkpoint() {
  const int pages = connection_->log_pages();
  if (pages < kPagesPerCheckpoint) restart_from_ = 2 * kPagesPerCheckpoint;
  if (has_failed_ || (pages < kPagesPerCheckpoint && !disk_was_full_)) return;
  Connection::Checkpoint mode = Connection::Checkpoint::kPassive;
  if (pages >= restart_from_) {
    // Readers that overlap have kept the log from beginning anew. A reader that never ends must not cost more than one
    // wait for each further step of the log.
    mode = Connection::Checkpoint::kRestart;
    restart_from_ = pages + kPagesPerCheckpoint;
  }
  if (disk_was_full_) mode = Connection::Checkpoint::kTruncate;  // its pages may be all that fills the disk
  try {
    connection_->checkpoint(mode);
  } catch (const SqliteError& error) {
    // Anything else passes: the log has it all, and the next group tries again.
    if (leaves_doubt(error)) fail_for_good(as_provider_error(error));
  }
}

void Writer::fail_for_good(const ProviderError& error) {
  {
    const std::scoped_lock guard(mutex_);
    if (failed_) return;
    failed_ = error;
    has_failed_ = true;
  }
  options_.failed();
}

std::optional<ProviderError> Writer::failure() const {
  if (!has_failed_) return std::nullopt;
  const std::scoped_lock guard(mutex_);
  return failed_;
}

void Writer::set_durable(bool durable) {
  durable = durable && options_.sync_commits;
  if (durable == durable_) return;
  connection_->execute(durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  durable_ = durable;
}

void Writer::fail_all(const std::vector<Waiting*>& group, const ProviderError& error) {
  for (Waiting* waiting : group) {
    waiting->effects.clear();
    for (std::size_t part = 0; part < waiting->job->parts; ++part) waiting->job->fail(part, error);
  }
}

}  // namespace perdure::sqlite
