// An order that survives the death of its process: this program starts a worker in another process, kills it with
// SIGKILL while the order is being shipped, starts it again, and shows what became of the order. The card is charged
// once.
//
//   order_service                 the whole show, on a store in a temporary folder
//   order_service worker STORE    just a worker, until its input ends
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "order_workflow.h"

namespace {

using namespace std::chrono_literals;

// ---- the worker ----------------------------------------------------------------------------------------------------

void say(const std::string& text) {
  std::cout << text << '\n' << std::flush;
}

perdure::Registry order_registry() {
  perdure::Registry registry;
  registry.add_orchestration("ProcessOrder", process_order);
  registry.add_activity("ChargeCard", [](perdure::ActivityContext&, const Order& order) {
    say("charging " + std::to_string(order.cents) + " cents to card " + order.card);
    return Payment{"tx-" + order.id, order.cents};
  });
  registry.add_activity("Ship", [](perdure::ActivityContext& ctx, const Order& order) {
    say("shipping order " + order.id + ", attempt " + std::to_string(ctx.attempt()));
    std::this_thread::sleep_for(300ms);  // long enough to be killed in
    say("order " + order.id + " is on its way");
    return Shipment{"parcel-" + order.id};
  });
  registry.add_activity("Refund", [](perdure::ActivityContext&, const Payment& payment) {
    say("refunding " + std::to_string(payment.cents) + " cents");
  });
  return registry;
}

int run_worker(const std::string& store) {
  const perdure::Runtime runtime(perdure::SqliteProvider::open(store), order_registry());
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}

// ---- the show ------------------------------------------------------------------------------------------------------

// A worker in a process of its own. What it says is passed on, line by line.
class Worker {
 public:
  explicit Worker(const std::string& store) {
    std::array<int, 2> input{};
    std::array<int, 2> output{};
    if (::pipe2(input.data(), O_CLOEXEC) != 0 || ::pipe2(output.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("cannot make a pipe");
    }
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
    std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    std::string command = "worker";
    std::string argument = store;
    std::array<char*, 4> arguments{program.data(), command.data(), argument.data(), nullptr};
    const int error = ::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(input[0]);
    ::close(output[1]);
    input_ = input[1];
    output_ = ::fdopen(output[0], "r");
    if (error != 0 || output_ == nullptr) throw std::runtime_error("cannot start a worker");
    std::printf("worker %d started\n", static_cast<int>(process_));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    ::close(input_);  // which ends it
    while (hear()) {
    }
    ::waitpid(process_, nullptr, 0);
    std::fclose(output_);
  }

  // Returns when the worker has said something that begins like this.
  void listen_for(const std::string& beginning) {
    while (hear()) {
      if (heard_.starts_with(beginning)) return;
    }
    throw std::runtime_error("the worker ended without saying '" + beginning + "'");
  }
  void kill() {
    std::printf("worker %d is killed with SIGKILL\n", static_cast<int>(process_));
    ::kill(process_, SIGKILL);
  }

 private:
  bool hear() {
    std::array<char, 512> line{};
    if (std::fgets(line.data(), static_cast<int>(line.size()), output_) == nullptr) return false;
    heard_ = line.data();
    std::printf("  worker %d: %s", static_cast<int>(process_), heard_.c_str());
    return true;
  }

  pid_t process_ = 0;
  int input_ = -1;
  std::FILE* output_ = nullptr;
  std::string heard_;
};

void print_history(const std::vector<perdure::Event>& history) {
  for (const perdure::Event& event : history) {
    std::printf("  turn %llu  %2llu  %s\n", static_cast<unsigned long long>(event.turn),
                static_cast<unsigned long long>(event.id), perdure::summarize(event.body).c_str());
  }
}

// An event is for whoever waits for it, so it is raised when the order does.
void wait_for_approval_request(const perdure::Client& client, const std::string& id) {
  const auto waits = [&] {
    for (const perdure::Event& event : client.read_execution_history(id)) {
      if (std::holds_alternative<perdure::events::ExternalSubscribed>(event.body)) return true;
    }
    return false;
  };
  while (!waits()) std::this_thread::sleep_for(10ms);
}

int run_show(const std::string& store) {
  const perdure::Client client(perdure::SqliteProvider::open(store));
  const std::string id = "order-42";
  client.start_orchestration(id, "ProcessOrder", Order{id, "4711", 1'999});
  std::printf("order %s is placed\n", id.c_str());
  {
    Worker worker(store);
    worker.listen_for("charging");
    wait_for_approval_request(client, id);
    std::printf("somebody approves the order\n");
    client.raise_event(id, "approved", Approval{"Ada"});
    worker.listen_for("shipping");
    worker.kill();
  }
  const auto between = client.get_orchestration_status(id);
  std::printf("without a worker the order is %s\n", std::string(perdure::to_string(between.state)).c_str());
  {
    Worker worker(store);
    worker.listen_for("order " + id + " is on its way");
    const auto status = client.wait_for_orchestration(id, 60s);
    const auto receipt = status.result<Receipt>();
    std::printf("order %s: %s, %s\n", receipt.order.c_str(), receipt.status.c_str(), receipt.details.c_str());
  }
  std::printf("\nits history:\n");
  print_history(client.read_execution_history(id));
  return 0;
}

int run_show_in_temporary_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "perdure-demo-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  struct Removal {
    std::string folder;
    ~Removal() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  } const removal{folder};
  return run_show(folder + "/orders.db");
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    if (argc == 1) return run_show_in_temporary_folder();
    if (argc == 3 && std::string(argv[1]) == "worker") return run_worker(argv[2]);
    std::fprintf(stderr, "usage: order_service [worker STORE]\n");
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
