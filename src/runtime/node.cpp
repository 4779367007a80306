#include "runtime/node.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace perdure::runtime {

namespace {

// Everything that is wrong, at once.
void check_all(const RuntimeOptions& options, const Registry& registry) {
  std::string problems;
  const auto collect = [&](const auto& check) {
    try {
      check();
    } catch (const std::invalid_argument& error) {
      problems += (problems.empty() ? "" : "; ") + std::string(error.what());
    }
  };
  collect([&] { options.check(); });
  collect([&] { registry.check(); });
  if (!problems.empty()) throw std::invalid_argument(problems);
}

}  // namespace

Node make_node(const RuntimeOptions& options, const Capabilities& store, Registry registry, RandomIds ids) {
  check_all(options, registry);
  auto code = std::make_shared<NodeCode>(std::move(registry));
  auto executor = std::make_shared<InProcessTurnExecutor>(
      [code](const std::string& name, const std::optional<SemanticVersion>& version) {
        return code->orchestration(name, version);
      },
      options.limits);
  const std::string id = options.worker_node_id.empty() ? "node-" + ids.text() : options.worker_node_id;
  auto turns = std::make_shared<TurnProcessor>(options, std::move(executor), id);

  CapabilityFilter filter;
  filter.engine_versions = turns->supported_versions();
  if (options.fetch_only_registered) {
    filter.orchestrations = code->orchestration_names();
    filter.activities = code->activity_names();
  }
  std::vector<OrchestrationVersion> orchestrations_here;
  for (const std::string& name : code->orchestration_names()) {
    for (const SemanticVersion& version : code->versions(name)) orchestrations_here.push_back({name, version});
  }
  NodeInfo info{.id = id,
                .engine_version = options.engine_version.value_or(engine_version()),
                .filter = filter,
                .tags = options.worker_tag_filter,
                .orchestrations = std::move(orchestrations_here),
                .activities = code->activity_names(),
                .registered_at = {}};
  auto resolve = [code](const std::string& name) { return code->activity(name); };
  auto places = std::make_shared<WorkPlaces>(
      work_fetch(options, id, filter), [code](const std::string& name) { return code->activity(name) != nullptr; });
  auto health = std::make_shared<StoreHealth>(id, options);
  OrchestrationDispatcher orchestrations(options, store, id, filter, ids, places, health);
  // An empty list would admit everything.
  if (options.fetch_only_registered && filter.orchestrations.empty()) orchestrations.drain();
  return {.id = id,
          .info = std::move(info),
          .code = code,
          .turns = std::move(turns),
          .health = health,
          .orchestrations = std::move(orchestrations),
          .activities = WorkerDispatcher(options, store, id, filter, std::move(resolve), std::move(places), health)};
}

std::vector<KeptExecution> exchange_news(OrchestrationDispatcher& orchestrations, WorkerDispatcher& activities,
                                         Timestamp now) {
  std::vector<KeptExecution> given_up;
  for (;;) {
    OrchestrationEffects effects = orchestrations.take_effects();
    move_behind(given_up, effects.given_up);
    NewsForTurns news = activities.take_news();
    if (effects.empty() && news.empty()) return given_up;
    activities.hear(std::move(effects), now);
    orchestrations.hear(std::move(news), now);
  }
}

}  // namespace perdure::runtime
