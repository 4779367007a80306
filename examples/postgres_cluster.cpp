// A cluster: two worker processes on one PostgreSQL server. One is killed in the middle of its work, and the other goes
// on with all of it.
//
//   postgres_cluster [URL]   the whole show; URL as libpq takes it, else what PERDURE_POSTGRES says
//   postgres_cluster worker  just a worker, on the server of PERDURE_POSTGRES; as many as you like, on many machines
//
// Everything is in the schema perdure_example of the database.
//
// It prints:
//   12 parcels for two workers
//   worker ... is killed
//   worker ... has delivered all 12 parcels
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/perdure.h>
#include <perdure/postgres_provider.h>

namespace {

using namespace std::chrono_literals;

constexpr const char* kVariable = "PERDURE_POSTGRES";

std::shared_ptr<perdure::Provider> connect_store(const std::string& url) {
  perdure::PostgresOptions options;
  options.schema = "perdure_example";
  return perdure::PostgresProvider::connect(url, options);
}

// ---- the worker -----------------------------------------------------------------------------------------------------

// Its result and its custom status: the worker that has done the last step.
perdure::Orchestration<int> parcel(perdure::OrchestrationContext ctx) {
  const int packer = co_await ctx.schedule_activity<int>("Work", "pack");
  ctx.set_custom_status(std::to_string(packer));
  co_await ctx.schedule_activity<int>("Work", "carry");
  co_await ctx.dequeue_event<void>("doorbell");
  co_return co_await ctx.schedule_activity<int>("Work", "deliver");
}

int work(perdure::ActivityContext& ctx, const std::string& step) {
  std::printf("  worker %d: %s %s%s\n", ::getpid(), step.c_str(), ctx.instance_id().c_str(),
              ctx.attempt() > 1 ? ", once more" : "");
  std::this_thread::sleep_for(50ms);
  return ::getpid();
}

int run_worker(const std::string& url) {
  sigset_t end{};
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &end, nullptr);  // in the threads of the runtime too: sigwait() takes it

  perdure::Registry registry;
  registry.add_orchestration("Parcel", parcel);
  registry.add_activity("Work", work);
  perdure::RuntimeOptions options;
  // A worker renews its locks as long as it lives. What it had when it was killed is free for others after this time.
  options.worker_lock_timeout = 1s;
  options.orchestrator_lock_timeout = 1s;
  const perdure::Runtime runtime(connect_store(url), registry, options);
  int signal = 0;
  return ::sigwait(&end, &signal);
}

// ---- the show -------------------------------------------------------------------------------------------------------

pid_t start_worker() {
  const pid_t process = ::fork();
  if (process < 0) throw std::system_error(errno, std::generic_category(), "cannot start a worker");
  if (process > 0) return process;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // it ends with us, whatever happens
  ::execl("/proc/self/exe", "postgres_cluster", "worker", nullptr);
  ::_exit(127);
}

// How it has ended, as waitpid() tells.
int end_worker(pid_t process, int signal) {
  int status = 0;
  ::kill(process, signal);
  if (::waitpid(process, &status, 0) < 0) throw std::system_error(errno, std::generic_category(), "waitpid");
  return status;
}

int run_show(const std::string& url) {
  // For the workers: as an argument everybody on the machine could read it.
  ::setenv(kVariable, url.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): there is only this thread
  const perdure::Client client(connect_store(url));
  const pid_t first = start_worker();
  const pid_t second = start_worker();

  std::vector<std::string> parcels(12);
  std::printf("%zu parcels for two workers\n", parcels.size());
  for (std::string& parcel : parcels) {
    parcel = "parcel-" + std::to_string(::getpid()) + "-" + std::to_string(&parcel - parcels.data() + 1);
    client.start_orchestration(parcel, "Parcel");
  }

  // Whoever has packed the first parcel is busy with the next step by now.
  const auto packed = client.wait_for_status_change(parcels[0], 0, 60s);
  const bool first_dies = packed.custom_status == std::to_string(first);
  const pid_t victim = first_dies ? first : second;
  const pid_t survivor = first_dies ? second : first;
  const int how = end_worker(victim, SIGKILL);
  if (!WIFSIGNALED(how)) throw std::runtime_error("the worker has ended before it was killed");
  std::printf("worker %d is killed\n", victim);

  for (const auto& parcel : parcels) client.enqueue_event(parcel, "doorbell");
  for (const auto& parcel : parcels) {
    const int deliverer = client.wait_for_orchestration(parcel, 60s).result<int>();
    if (deliverer != survivor) throw std::runtime_error(parcel + " was delivered by " + std::to_string(deliverer));
    client.delete_instance(parcel);
  }
  if (end_worker(survivor, SIGTERM) != 0) throw std::runtime_error("the other worker has failed");
  std::printf("worker %d has delivered all %zu parcels\n", survivor, parcels.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    const char* variable = std::getenv(kVariable);  // NOLINT(concurrency-mt-unsafe): there is only this thread
    const std::string from_environment = variable == nullptr ? "" : variable;
    const std::string argument = argc == 2 ? argv[1] : "";
    if (argument == "worker" && !from_environment.empty()) return run_worker(from_environment);
    const std::string url = argument.empty() ? from_environment : argument;
    if (argc <= 2 && argument != "worker" && !url.empty()) return run_show(url);
    std::fprintf(stderr,
                 "usage: postgres_cluster [URL | worker]\nSay which server: give its URL, such as "
                 "postgresql://user@localhost/database, or set %s to it.\n",
                 kVariable);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "postgres_cluster: %s\n", error.what());
    return 1;
  }
}
