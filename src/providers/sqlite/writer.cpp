#include "providers/sqlite/writer.h"

#include <exception>
#include <new>
#include <set>
#include <utility>

#include <sqlite3.h>

namespace perdure::sqlite {

namespace {

// Bounds what one transaction holds back, not what callers may ask.
constexpr std::size_t kPartsPerTransaction = 1'024;

// The log is copied into the file in larger steps than SQLite's own: fewer stops, and pages that change often are
// copied less often.
constexpr int kPagesPerCheckpoint = 4'000;

// These concern the file, not the operation that met them: doing the parts one by one would only meet them again.
bool concerns_store(const SqliteError& error) noexcept {
  switch (error.code() & 0xFF) {
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

ProviderError describe_unexpected(const std::exception& error) {
  if (const auto* failure = dynamic_cast<const ProviderFailure*>(&error)) return failure->error();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {ProviderErrorKind::kUnavailable, "out of memory; nothing was written"};
  }
  return {ProviderErrorKind::kStoreFailed, std::string("the store met an error of its own: ") + error.what()};
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
}

std::size_t Writer::waiting() const {
  const std::scoped_lock guard(mutex_);
  return queue_.size();
}

void Writer::work() {
  for (;;) {
    const std::vector<Waiting*> group = next_group();
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
  std::size_t parts = 0;
  for (Waiting* waiting : queue_) {
    if (!group.empty() && parts + waiting->job->parts > kPartsPerTransaction) break;
    parts += waiting->job->parts;
    group.push_back(waiting);
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(group.size()));
  return group;
}

// A part that fails is told so and left out, and the others are done again without it: nobody pays for a neighbour with
// more than a little time.
void Writer::run_group(const std::vector<Waiting*>& group) {
  bool durable = false;
  for (const Waiting* waiting : group) durable = durable || waiting->job->durable;
  std::set<std::pair<const Job*, std::size_t>> left_out;
  while (!has_failed_) {
    Job* job = nullptr;
    std::size_t part = 0;
    const auto leave_out = [&](const ProviderError& error) {
      job->fail(part, error);
      left_out.emplace(job, part);
    };
    try {
      transaction(durable, [&] {
        for (const Waiting* waiting : group) {
          job = waiting->job;
          for (part = 0; part < job->parts; ++part) {
            if (!left_out.contains({job, part})) job->run(store_, part);
          }
        }
        job = nullptr;
      });
      return;
    } catch (const SqliteError& error) {
      const ProviderError shown = as_provider_error(error);
      if (job == nullptr || concerns_store(error)) {
        if (shown.kind() == ProviderErrorKind::kStoreFailed) fail_for_good(shown);
        fail_all(group, shown);
        return;
      }
      leave_out(shown);
    } catch (const OperationFailed& failure) {
      leave_out(failure.error());
    } catch (const std::exception& error) {
      const ProviderError shown = describe_unexpected(error);
      if (job == nullptr) {
        fail_all(group, shown);
        return;
      }
      leave_out(shown);
    }
  }
  fail_all(group, *failure());
}

void Writer::transaction(bool durable, const std::function<void()>& body) {
  try {
    set_durable(durable);
    connection_->run("BEGIN IMMEDIATE");
    const std::int64_t changes = connection_->total_changes();
    store_.begin(options_.now());
    body();
    connection_->run("COMMIT");
    if (connection_->total_changes() != changes) ++write_transactions_;
  } catch (...) {
    // Some errors have ended the transaction already.
    if (connection_->in_transaction()) connection_->execute("ROLLBACK");
    throw;
  }
  options_.committed(store_.changes());
}

void Writer::checkpoint() {
  if (has_failed_ || connection_->log_pages() < kPagesPerCheckpoint) return;
  try {
    connection_->execute("PRAGMA wal_checkpoint(PASSIVE)");
  } catch (const SqliteError& error) {
    // Anything else passes: the log has it all, and the next commit tries again.
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
  for (const Waiting* waiting : group) {
    for (std::size_t part = 0; part < waiting->job->parts; ++part) waiting->job->fail(part, error);
  }
}

}  // namespace perdure::sqlite
