// An order that survives the death of its process. This program starts itself again as a worker; in the middle of the
// order the worker kills itself with SIGKILL; a second worker resumes the order. The program then prints the timeline,
// what would have been lost, and the result of its checks, which is also the exit status.
//
//   order_demo                          the demonstration, on a SQLite store in a temporary directory
//   order_demo --fast                   without pauses for a reader to follow
//   order_demo --break repeat           the second worker charges the card again; a check must fail
//   order_demo --break lose             the history is deleted at the kill; checks must fail
//   order_demo --break survive          the worker does not kill itself; a check must fail
//   order_demo --worker DIR MS PLAN     only the worker, until its input ends
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include "order_demo/child_process.h"
#include "order_demo/ledger.h"
#include "order_demo/order.h"
#include "order_demo/progress.h"
#include "order_demo/report.h"
#include "order_demo/worker.h"

namespace order_demo {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 50s;  // for the whole demonstration; less than kLockTimeout
constexpr const char* kApprover = "Ada";

volatile std::sig_atomic_t interrupted = 0;

struct Options {
  bool fast = false;
  std::string broken;  // what --break asks for
};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code none;
    path_ = (std::filesystem::temp_directory_path(none) / "perdure-demo-XXXXXX").string();
    if (none) throw std::system_error(none, "there is no folder for temporary files; set TMPDIR to one");
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(),
                              "cannot make the temporary folder " + path_ + "; set TMPDIR to where that is possible");
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    if (error) std::fprintf(stderr, "order_demo: %s stays behind: %s\n", path_.c_str(), error.message().c_str());
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Show {
 public:
  Show(const Options& options, const Style& style, const std::string& folder)
      : options_(options),
        style_(style),
        folder_(folder),
        pause_(options.fast    ? 10ms
               : style.redraws ? 600ms
                               : 200ms),
        deadline_(std::chrono::steady_clock::now() + kPatience),
        client_(perdure::SqliteProvider::open(store_in(folder))),
        display_(style) {}

  // Returns whether all of it held.
  bool run() {
    bool held = false;
    try {
      play();
      held = report();
    } catch (...) {
      print_worker_log();
      throw;
    }
    if (!held) print_worker_log();
    return held;
  }

 private:
  void play() {
    print("Order " + order_.id + ": " + order_.goods + " for " + order_.price + ", card " + order_.card);
    print();
    client_.start_orchestration(order_.id, kProcessOrder, order_);
    start_worker(options_.broken == "survive" ? kPlanLive : kPlanDie);
    watch_until_worker_or_order_ends();
    if (worker_->death()) {
      bury_worker();
      story_.at_death = client_.read_execution_history(order_.id);
      if (options_.broken == "lose") lose_history();
      start_worker(options_.broken == "repeat" ? kPlanRepeat : kPlanLive);
      watch_until_worker_or_order_ends();
    }
    if (!worker_->end(kPatience)) throw std::runtime_error("the worker does not end though it was asked to");
    bury_worker();
  }

  void start_worker(const std::string& plan) {
    worker_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{"order_demo", "--worker", folder_, std::to_string(pause_.count()), plan},
        folder_ + "/worker.log");
    story_.workers.push_back({worker_->id(), std::nullopt, {}});
  }
  void bury_worker() {
    story_.workers.back().death = *worker_->death();
    story_.workers.back().ended = now();
    look();
  }

  std::vector<perdure::Event> look() {
    auto history = client_.read_execution_history(order_.id);
    display_.show(history, story_.workers);
    return history;
  }
  void watch_until_worker_or_order_ends() {
    while (!worker_->death() && !client_.get_orchestration_status(order_.id).ended()) {
      approve_if_asked(progress_of(look()));
      if (interrupted != 0) throw std::runtime_error("interrupted");
      if (std::chrono::steady_clock::now() > deadline_) {
        throw std::runtime_error("the order did not end within " + std::to_string(kPatience.count()) + " s");
      }
      std::this_thread::sleep_for(5ms);
    }
  }
  // Somebody takes a moment to decide. An event is for whoever waits for it, so it is raised when the order does.
  void approve_if_asked(const Progress& progress) {
    for (const StepProgress& each : progress) {
      if (std::string_view(each.step.name) != kApproved || !each.under_way()) continue;
      if (approved_ == each.begun || now() < *each.begun + 2 * pause_) continue;
      client_.raise_event(order_.id, kApproved, std::string(kApprover));
      approved_ = each.begun;
    }
  }
  // What the death of a process means to a program without a history: all it can do is begin again.
  void lose_history() {
    client_.delete_instance(order_.id, true);
    client_.start_orchestration(order_.id, kProcessOrder, order_);
  }

  bool report() {
    story_.history = client_.read_execution_history(order_.id);
    story_.status = client_.get_orchestration_status(order_.id);
    story_.ledger = Ledger(ledger_in(folder_)).read();
    print();
    print_timeline(story_, style_);
    print_losses(story_);
    return print_checks(check(story_, order_.id, kApprover), style_);
  }
  void print_worker_log() const {
    print();
    std::ifstream log(folder_ + "/worker.log");
    for (std::string line; std::getline(log, line);) print("a worker said: " + line);
  }

  Options options_;
  Style style_;
  std::string folder_;
  std::chrono::milliseconds pause_;
  std::chrono::steady_clock::time_point deadline_;
  perdure::Client client_;
  Display display_;
  Order order_{"order-42", "three keyboards", "4711", "59.97"};
  std::unique_ptr<ChildProcess> worker_;
  Story story_;
  std::optional<perdure::Timestamp> approved_;  // which of the waits for an approval has got one
};

int run_show(const Options& options) {
  // So that the worker and the folder go when somebody stops the demonstration, or stops reading.
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  std::signal(SIGPIPE, SIG_IGN);
  const TemporaryFolder folder;
  const bool held = Show(options, Style::of_standard_output(), folder.path()).run();
  print();
  print(held ? "All checks passed." : "Some checks failed.");
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw std::runtime_error("cannot write to standard output");
  return held ? 0 : 1;
}

int run_worker_with(const std::vector<std::string>& arguments) {
  int pause = 0;
  const std::string& text = arguments[2];
  const auto end = text.data() + text.size();
  if (const auto parsed = std::from_chars(text.data(), end, pause); parsed.ec != std::errc() || parsed.ptr != end) {
    throw std::invalid_argument("'" + text + "' is no number of milliseconds");
  }
  const std::string& plan = arguments[3];
  if (plan != kPlanLive && plan != kPlanDie && plan != kPlanRepeat) {
    throw std::invalid_argument("a worker has no plan '" + plan + "'; use live, die or repeat");
  }
  return run_worker(arguments[1], perdure::Milliseconds(pause), plan);
}

// Absent: not to be understood.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--fast") {
      options.fast = true;
    } else if (arguments[i] == "--break" && i + 1 < arguments.size()) {
      options.broken = arguments[++i];
      if (options.broken != "repeat" && options.broken != "lose" && options.broken != "survive") return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 4 && arguments[0] == "--worker") return run_worker_with(arguments);
  if (const auto options = parse(arguments)) return run_show(*options);
  std::fprintf(stderr, "usage: order_demo [--fast] [--break repeat|lose|survive]\n");
  return 2;
}

}  // namespace
}  // namespace order_demo

int main(int argc, char** argv) {
  try {
    return order_demo::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "order_demo: %s\n", error.what());
    return 1;
  }
}
