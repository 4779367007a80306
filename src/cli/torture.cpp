#include "cli/torture.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/interrupt.h"
#include "cli/temporary_directory.h"
#include "cli/terminal_filter.h"
#include "cli/text.h"
#include "cli/torture_store.h"
#include "testing/cluster/torture.h"
#include "testing/cluster/worker.h"

namespace perdure::cli {

namespace {

namespace cluster = testing::cluster;

constexpr std::size_t kShownProblems = 20;

// ---- the ledger and the logs ----

// A folder for them. It stays until remove().
class BooksFolder {
 public:
  BooksFolder() : path_((temporary_directory() / "perdure-torture-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot create a temporary directory: " + path_);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void remove() const {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) throw std::runtime_error(path_ + " cannot be removed: " + error.message());
  }

 private:
  std::string path_;
};

// ---- what it says ----

std::string progress_text(const cluster::TortureCounts& counts, std::size_t kills, double seconds) {
  return std::to_string(counts.kills) + " of " + std::to_string(kills) + " kills, " +
         std::to_string(counts.workflows_done) + " of " + std::to_string(counts.workflows) + " workflows done, " +
         std::to_string(counts.repetitions) + " repetitions, " + std::to_string(static_cast<int>(seconds)) + " s";
}

// On a terminal one line that changes, else a line now and then.
class ProgressLine {
 public:
  ProgressLine(const Context& context, std::size_t kills)
      : err_(context.progress()), rewritten_(context.err_terminal), kills_(kills) {
    if (rewritten_) empty_line_ = terminal_mark(context.mark_key, "1G") + terminal_mark(context.mark_key, "K");
  }

  void show(const cluster::TortureCounts& counts) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < (rewritten_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000))) return;
    last_ = now;
    const std::string text = progress_text(counts, kills_, std::chrono::duration<double>(now - begin_).count());
    err_ << empty_line_ << text << (rewritten_ ? "" : "\n") << std::flush;
  }
  void clear() { err_ << empty_line_ << std::flush; }

 private:
  std::ostream& err_;
  bool rewritten_;
  std::string empty_line_;  // to the beginning of the line, and deletes it
  std::size_t kills_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = begin_;
};

struct TortureResult {
  cluster::TortureReport report;
  std::uint64_t seed = 0;
  std::string store;
  std::string kept_store;   // empty: it is gone
  std::string kept_folder;  // likewise
};

nlohmann::json to_json(const TortureResult& result) {
  const auto& counts = result.report.counts;
  const auto place = [](const std::string& text) { return text.empty() ? nlohmann::json() : nlohmann::json(text); };
  return {{"clean", result.report.clean()},
          {"kills", counts.kills},
          {"workers_started", counts.workers},
          {"workflows", counts.workflows},
          {"workflows_done", counts.workflows_done},
          {"ledger_entries", counts.ledger_entries},
          {"repetitions", counts.repetitions},
          {"problems", result.report.problems},
          {"interrupted", result.report.interrupted},
          {"seconds", result.report.seconds},
          {"seed", result.seed},
          {"store", result.store},
          {"kept_store", place(result.kept_store)},
          {"kept_ledger_and_logs", place(result.kept_folder)}};
}

void print(const Context& context, const TortureResult& result) {
  std::ostream& out = context.out;
  const auto& [counts, seconds, interrupted_by_user, problems] = result.report;
  for (std::size_t i = 0; i < problems.size() && i < kShownProblems; ++i) {
    out << painted(context, Colour::kBad, "problem: ") << problems[i] << '\n';
  }
  if (problems.size() > kShownProblems) {
    out << "and " << problems.size() - kShownProblems << " more problems; --json lists all\n";
  }
  out << counts.kills << " kills, " << counts.workflows_done << " of " << counts.workflows << " workflows done, "
      << counts.ledger_entries << " ledger entries, " << counts.repetitions << " repetitions, "
      << duration_text(Milliseconds(static_cast<Milliseconds::rep>(seconds * 1'000))) << "; seed " << result.seed
      << '\n';
  if (!result.kept_store.empty()) out << "store: " << result.kept_store << '\n';
  if (!result.kept_folder.empty()) out << "ledger and logs: " << result.kept_folder << '\n';
  if (interrupted_by_user) {
    out << painted(context, Colour::kWarning, "interrupted; nothing was checked") << '\n';
  } else if (problems.empty()) {
    out << painted(context, Colour::kGood, "clean: nothing lost, nothing repeated without a kill") << '\n';
  } else {
    out << painted(context, Colour::kBad, "NOT CLEAN: " + std::to_string(problems.size()) + " problems") << '\n';
  }
}

SqliteSynchronous synchronous_of(const std::string& sync) {
  return sync == "normal" ? SqliteSynchronous::kNormal : SqliteSynchronous::kFull;
}

cluster::TortureOptions options_of(const Context& context, const TortureArguments& arguments,
                                   const TortureStore& store) {
  cluster::TortureOptions options;
  options.worker_command = {"/proc/self/exe",        "torture-worker", "--schema",
                            store.argument().schema, "--sync",         arguments.sync};
  options.worker_environment = {"PERDURE_STORE=" + context.store};  // a command line is no place for a password
  options.kills = arguments.kills;
  options.workers = arguments.workers;
  options.in_flight = arguments.in_flight;
  options.seed = arguments.seed.value_or(std::random_device()());
  options.stall_limit = Milliseconds(1'000) * arguments.stall_seconds;
  options.time_limit = Milliseconds(1'000) * arguments.seconds_limit;
  options.planted = arguments.planted;
  if (store.argument().kind == StoreKind::kPostgres) {
    // A server does not see that a client has died as an SQLite file does: its locks must expire.
    options.lock_timeout = Milliseconds(4'000);
  }
  return options;
}

}  // namespace

int run_torture(Context& context, const TortureArguments& arguments) {
  const Interrupt interrupt;  // before anything is made, and until it is removed
  TortureStore store(context.store_argument(), arguments.schema_given, synchronous_of(arguments.sync));
  const BooksFolder folder;
  cluster::TortureOptions options = options_of(context, arguments, store);
  options.folder = folder.path();
  ProgressLine progress(context, arguments.kills);
  options.progress = [&progress](const cluster::TortureCounts& counts) { progress.show(counts); };
  TortureResult result{.report = {}, .seed = options.seed, .store = store.place(), .kept_store = {}, .kept_folder = {}};
  options.wants_to_end = [&interrupt] { return interrupt.requested().load(); };
  result.report = cluster::torture(store.provider(), options);
  progress.clear();
  // What shows a problem stays for whoever looks into it.
  const bool keep = arguments.keep || !result.report.problems.empty();
  if (keep || !store.is_removable()) result.kept_store = store.place();
  if (keep) result.kept_folder = folder.path();
  if (!keep) {
    store.remove();
    folder.remove();
  }
  if (context.json) {
    context.out << json_text(to_json(result)) << '\n';
  } else {
    print(context, result);
  }
  return result.report.clean() ? kSuccess : kNegative;
}

void run_torture_worker(const Context& context, const std::string& sync, const std::vector<std::string>& settings) {
  OpenOptions options;
  options.synchronous = synchronous_of(sync);
  cluster::run_worker(cluster::WorkerOptions::parse(settings), [&](const Logger&) { return context.open(options); });
}

}  // namespace perdure::cli
