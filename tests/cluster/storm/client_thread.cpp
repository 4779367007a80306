#include "client_thread.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include <poll.h>

#include <perdure/client_error.h>
#include <perdure/postgres_provider.h>

namespace perdure::test::storm {

namespace {

constexpr int kPause = 40;  // milliseconds between two updates
constexpr Milliseconds kAnswerTimeout{5'000};

std::shared_ptr<Provider> open(const testing::cluster::StoreAddress& address) {
  PostgresOptions options;
  options.schema = address.schema;
  options.connections = 2;
  options.answer_timeout = kAnswerTimeout;
  return PostgresProvider::connect(address.url, options);
}

// So many in a second, and no more after a time without any.
class Pace {
 public:
  explicit Pace(std::size_t rate) : interval_(std::chrono::microseconds(1'000'000 / std::max<std::size_t>(rate, 1))) {}
  bool is_time() {
    const auto now = std::chrono::steady_clock::now();
    next_ = std::max(next_, now - std::chrono::seconds(1));
    if (now < next_) return false;
    next_ += interval_;
    return true;
  }

 private:
  std::chrono::microseconds interval_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace

ClientThread::ClientThread(const Options& options, const testing::cluster::StoreAddress& store)
    : options_(options), store_(open(store)), thread_([this] { run(); }) {}

ClientThread::~ClientThread() {
  stop();
}

void ClientThread::stop() {
  ends_ = true;
  if (thread_.joinable()) thread_.join();
}

void ClientThread::run() {
  testing::cluster::Workload workload(std::exchange(store_, nullptr));
  Pace pace(options_.rate);
  while (!ends_) {
    std::vector<std::string> problems;
    bool failed = false;
    try {
      while (starts_ && workload.under_way() < options_.in_flight && pace.is_time()) workload.start_next();
      workload.update();
    } catch (const ClientError& error) {
      failed = true;
      if (!error.retryable()) problems.emplace_back("a client met an error: " + std::string(error.what()));
    } catch (const std::exception& error) {
      problems.emplace_back("the client cannot go on: " + std::string(error.what()));
      ends_ = true;
    }
    std::vector<std::string> wrong = workload.take_problems();
    problems.insert(problems.end(), std::make_move_iterator(wrong.begin()), std::make_move_iterator(wrong.end()));
    note(workload, std::move(problems), failed);
    ::poll(nullptr, 0, kPause);
  }
  started_ = workload.started();
  under_way_ = workload.names_under_way();
}

void ClientThread::note(const testing::cluster::Workload& workload, std::vector<std::string> problems, bool failed) {
  const bool starts = starts_;  // before the count: what is started later is under way
  const std::scoped_lock lock(mutex_);
  progress_.workflows = workload.started().size();
  progress_.done = workload.done();
  progress_.all_done = !starts && !failed && workload.under_way() == 0;
  if (failed) ++progress_.failed_calls;
  problems_.insert(problems_.end(), std::make_move_iterator(problems.begin()), std::make_move_iterator(problems.end()));
}

ClientThread::Progress ClientThread::progress() const {
  const std::scoped_lock lock(mutex_);
  return progress_;
}

std::vector<std::string> ClientThread::problems() const {
  const std::scoped_lock lock(mutex_);
  return problems_;
}

}  // namespace perdure::test::storm
