// Worker pools: an activity with a tag runs only on nodes that serve the tag.
//
// A film is cut by any node and rendered by one with a GPU. At first there is none, and the store can tell what the
// film waits for. Then a node comes that serves the tag "gpu" and nothing else.
//
// It prints:
//   office: cut film-1
//   stuck: film-1: activity 'Render' (...) has tag 'gpu', which no registered node with its code serves; ...
//   a node with a GPU comes
//   gpu box: render film-1
//   film-1: cut by office, rendered by gpu box
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

perdure::Orchestration<std::string> make_film(perdure::OrchestrationContext ctx, std::string film) {
  const auto cut = co_await ctx.schedule_activity<std::string>("Cut", film);
  ctx.set_custom_status("waiting for a GPU");
  const auto on_gpu = perdure::ActivityOptions().tag("gpu");
  const auto rendered = co_await ctx.schedule_activity<std::string>("Render", film, on_gpu);
  co_return "cut by " + cut + ", rendered by " + rendered;
}

// An activity that says where it runs.
auto work(const std::string& node, const std::string& what) {
  return [node, what](perdure::ActivityContext&, const std::string& film) {
    std::printf("%s: %s %s\n", node.c_str(), what.c_str(), film.c_str());
    return node;
  };
}

// A node in the office has all the code. It takes activities without a tag, as every node does that is not told
// otherwise.
perdure::Registry office_code() {
  perdure::Registry registry;
  registry.add_orchestration("MakeFilm", make_film);
  registry.add_activity("Cut", work("office", "cut"));
  registry.add_activity("Render", work("office", "render"));
  return registry;
}

// The box with the GPU takes nothing but activities with its tag: no others, and no orchestrations.
perdure::Registry gpu_code() {
  perdure::Registry registry;
  registry.add_activity("Render", work("gpu box", "render"));
  return registry;
}
perdure::RuntimeOptions gpu_options() {
  perdure::RuntimeOptions options;
  options.worker_tag_filter = perdure::TagFilter::tags({"gpu"});
  options.fetch_only_registered = true;
  return options;
}

int run() {
  const auto store = perdure::make_memory_provider();
  const perdure::Client client(store);
  const perdure::Runtime office(store, office_code());
  client.start_orchestration("film-1", "MakeFilm", "film-1");
  client.wait_for_status_change("film-1", 0, 30s);

  const auto stuck = client.find_stuck_instances();
  if (stuck.size() != 1) throw std::runtime_error("one film should be stuck, not " + std::to_string(stuck.size()));
  std::printf("stuck: %s: %s\n", stuck[0].instance.c_str(), stuck[0].reason.c_str());

  std::printf("a node with a GPU comes\n");
  const perdure::Runtime gpu_box(store, gpu_code(), gpu_options());
  const auto result = client.wait_for_orchestration("film-1", 30s).result<std::string>();
  std::printf("film-1: %s\n", result.c_str());
  if (result != "cut by office, rendered by gpu box") throw std::runtime_error("that was done in the wrong place");
  if (!client.find_stuck_instances().empty()) throw std::runtime_error("something is still stuck");
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tagged_pool: %s\n", error.what());
    return 1;
  }
}
