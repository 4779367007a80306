// The smallest workflow: an orchestration that calls an activity, waits, and goes on in another life of its process.
//
// A runtime begins a greeting and ends while the greeting waits for a visitor. A second runtime on the same file takes
// it up behind the place where it waits: Ada is not greeted again.
//
// It prints:
//   first runtime
//     greeting Ada
//   no runtime: hello-1 is Running, "waiting for a visitor"
//   second runtime
//     greeting Grace
//   hello-1 says: Hello, Ada! Hello, Grace!
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

// The workflow. It is run again from the top to rebuild its state, so it decides by what the context gives it, and
// leaves everything else to activities.
perdure::Orchestration<std::string> hello(perdure::OrchestrationContext ctx, std::string name) {
  const auto first = co_await ctx.schedule_activity<std::string>("Greet", name);
  ctx.set_custom_status("waiting for a visitor");
  const auto visitor = co_await ctx.dequeue_event<std::string>("visitors");
  const auto second = co_await ctx.schedule_activity<std::string>("Greet", visitor);
  co_return first + " " + second;
}

// The work. It may do anything, and its result is recorded.
std::atomic<int> greetings = 0;

std::string greet(perdure::ActivityContext&, const std::string& name) {
  ++greetings;
  std::printf("  greeting %s\n", name.c_str());
  return "Hello, " + name + "!";
}

perdure::Registry greeting_code() {
  perdure::Registry registry;
  registry.add_orchestration("Hello", hello);
  registry.add_activity("Greet", greet);
  return registry;
}

void begin(const std::string& file) {
  std::printf("first runtime\n");
  const auto store = perdure::SqliteProvider::open(file);
  const perdure::Runtime runtime(store, greeting_code());
  const perdure::Client client(store);
  client.start_orchestration("hello-1", "Hello", "Ada");
  client.wait_for_status_change("hello-1", 0, 30s);
}  // here the runtime ends and the file is closed

void look(const std::string& file) {
  const auto status = perdure::Client(perdure::SqliteProvider::open(file)).get_orchestration_status("hello-1");
  std::printf("no runtime: hello-1 is %s, \"%s\"\n", std::string(perdure::to_string(status.state)).c_str(),
              status.custom_status.value_or("").c_str());
}

std::string finish(const std::string& file) {
  std::printf("second runtime\n");
  const auto store = perdure::SqliteProvider::open(file);
  const perdure::Runtime runtime(store, greeting_code());
  const perdure::Client client(store);
  client.enqueue_event("hello-1", "visitors", "Grace");
  return client.wait_for_orchestration("hello-1", 30s).result<std::string>();
}

// Where the store is kept: a folder that goes with the program.
struct TemporaryFolder {
  std::string path = (std::filesystem::temp_directory_path() / "perdure-hello-XXXXXX").string();
  TemporaryFolder() {
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make the temporary folder " + path);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

int main() {
  try {
    const TemporaryFolder folder;
    const std::string file = folder.path + "/hello.db";
    begin(file);
    look(file);
    const std::string said = finish(file);
    std::printf("hello-1 says: %s\n", said.c_str());
    if (said != "Hello, Ada! Hello, Grace!") throw std::runtime_error("that is not what it should say");
    if (greetings != 2) throw std::runtime_error("there were " + std::to_string(greetings) + " greetings, not 2");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hello: %s\n", error.what());
    return 1;
  }
}
