// One turn of an orchestration whose activity has a RetryPolicy, while memory runs out for a moment: each allocation of
// the turn fails once, in a process of its own. The turn either throws, and then runs again from the history, or it has
// its whole effect. Writes "complete" if that holds, else which allocation broke it.
//
//   SCENE: "success", "failure", "next attempt", "deadline"
#include <csignal>
#include <iostream>
#include <new>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "hostile_world/failing_allocations.h"
#include "support/harness.h"

namespace perdure::test {
namespace {

struct Scene {
  RetryPolicy policy;
  MessageBody message;
};

Scene scene(const std::string& name) {
  const std::string text(100, 'x');
  if (name == "success") return {RetryPolicy(3), completed(2, text)};
  if (name == "failure") return {RetryPolicy(1), failed(2, text)};
  if (name == "next attempt") return {RetryPolicy(3).backoff(Backoff::none()), failed(2, text)};
  return {RetryPolicy(3).total_timeout(Milliseconds(60'000)), fired(3)};
}

enum class Outcome : int { kWhole, kPartial, kNotReached };

// What becomes of the turn if its allocation number `count` fails.
Outcome run(const Scene& scene, long count) {
  Harness harness([policy = scene.policy](OrchestrationContext ctx) -> Orchestration<std::string> {
    auto said = co_await ctx.schedule_activity<Raw>("Say", ActivityOptions().retry(policy)).as_result();
    co_return said ? std::string("said") : said.error().message();
  });
  harness.also_rebuild = false;
  harness.start();
  const std::size_t before = harness.history.size();
  g_left = count;
  try {
    const Counted counted;
    (void)harness.turn({scene.message});
  } catch (const std::bad_alloc&) {
    harness.evict();
    (void)harness.turn({scene.message});
  }
  const bool reached = g_left < 0;
  g_left = -1;
  if (harness.history.size() < before + 2) return Outcome::kPartial;
  return reached ? Outcome::kWhole : Outcome::kNotReached;
}

std::string run_all(const Scene& scene) {
  for (long count = 0;; ++count) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(static_cast<int>(run(scene, count)));
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return "fork failed";
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) continue;  // nothing was committed
    if (!WIFEXITED(status)) return "allocation " + std::to_string(count) + " crashed";
    const auto outcome = static_cast<Outcome>(WEXITSTATUS(status));
    if (outcome == Outcome::kPartial) return "allocation " + std::to_string(count) + " lost the effect of the turn";
    if (outcome == Outcome::kNotReached) return count > 10 ? "complete" : "too few allocations";
  }
}

}  // namespace
}  // namespace perdure::test

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::cout << perdure::test::run_all(perdure::test::scene(argv[1])) << std::endl;
  return 0;
}
