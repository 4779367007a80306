// A process beside the tests, with a store of its own on their file: sqlite_child <file>. Takes commands from standard
// input, a line each, and answers each with a line. Times are the machine's.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include <unistd.h>

#include <perdure/sqlite_provider.h>
#include "providers/sqlite/connection.h"
#include "testing/validation/scene.h"

namespace perdure::testing {
namespace {

constexpr Milliseconds kLong{3'600'000};

class MachineFile final : public ProviderFactory {
 public:
  explicit MachineFile(std::string path) : path_(std::move(path)) {}
  std::shared_ptr<Provider> create() override { return SqliteProvider::open(path_); }
  void advance(Milliseconds /*by*/) override {}
  void step(Milliseconds /*by*/) override {}
  void corrupt_history(Provider& /*store*/, const std::string& /*instance*/) override {}
  [[nodiscard]] Milliseconds orphan_retention() const override { return kLong; }

 private:
  std::string path_;
};

void answer(const std::string& text) {
  std::cout << text << std::endl;
}

// Starts an instance and commits its first turn, and before that what others have started and left.
void create(Scene& scene, const std::string& instance) {
  scene.enqueue_start(instance);
  OrchestrationFetch fetch;
  fetch.lock_timeout = kLong;
  fetch.filter.orchestrations = {"Flow"};
  for (std::string committed; committed != instance;) {
    const OrchestrationItem item = scene.fetch(fetch);
    TurnCommit commit = scene.first_commit_of(item);
    commit.events.push_back(event(2));
    commit.key_values.push_back(SetKeyValue{.key = "k", .value = "v", .updated_at = {}});
    commit.activities.push_back(activity(item.instance, 2));
    scene.ack(commit);
    committed = item.instance;
  }
}

std::string wait(Scene& scene) {
  WorkWait wait;
  wait.orchestrations = OrchestrationFetch{};
  return take(scene.store().wait_for_work(wait, scene.now() + kLong)) ? "woken" : "nothing";
}

std::string fetch(Scene& scene) {
  OrchestrationFetch options;
  options.lock_timeout = kLong;
  const auto item = take(scene.store().fetch_orchestration_item(options));
  return item ? item->instance + " " + item->token.value : "nothing";
}

std::string fetch_work(Scene& scene, const std::string& session_owner) {
  WorkFetch options;
  options.lock_timeout = kLong;
  if (!session_owner.empty()) options.session = SessionFetch{.owner = session_owner, .lock_timeout = kLong};
  const auto item = take(scene.store().fetch_work_item(options));
  return item ? item->record.instance + " " + item->token.value : "nothing";
}

// Keeps a write transaction open until the process ends.
std::string hold(const std::string& path) {
  static sqlite::Connection connection(path, sqlite::Connection::Mode::kReadWrite, kLong);
  connection.execute("BEGIN IMMEDIATE");
  return std::to_string(::getpid());
}

std::string run(Scene& scene, const std::string& command, const std::string& argument) {
  if (command == "start") scene.enqueue_start(argument);
  if (command == "create") create(scene, argument);
  if (command == "end") scene.end(argument);
  if (command == "wait") return wait(scene);
  if (command == "hold") return hold(argument);
  if (command == "fetch") return fetch(scene);
  if (command == "fetch_work") return fetch_work(scene, argument);
  if (command == "create_many") {  // as many as the argument says, or until the process is killed
    const long count = argument.empty() ? -1 : std::stol(argument);
    const std::string prefix = std::to_string(scene.now().time_since_epoch().count()) + "-";
    for (long number = 0; number != count; ++number) {
      create(scene, "child-" + prefix + std::to_string(number));
      answer("child-" + prefix + std::to_string(number));
    }
  }
  return "ok";
}

int serve(const std::string& path) {
  MachineFile file(path);
  Scene scene(file);
  answer("ready");
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    std::string argument;
    words >> command >> argument;
    answer(run(scene, command, argument));
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace perdure::testing

int main(int count, char** arguments) {
  try {
    if (count == 2) return perdure::testing::serve(arguments[1]);
    std::cerr << "usage: sqlite_child <file>\n";
  } catch (const std::exception& error) {
    std::cout << "error: " << error.what() << std::endl;
  }
  return EXIT_FAILURE;
}
