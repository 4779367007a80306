#include "testing/simulation/stepped_node.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

namespace perdure::testing {

// The parts that the node is made of.
namespace orchestration = runtime::orchestration;
namespace worker = runtime::worker;
using runtime::Node;
using runtime::OrchestrationEffects;
using runtime::RandomIds;
using runtime::RequestId;
using runtime::RunId;
using runtime::WithdrawnActivity;

struct SteppedNode::Inbox {
  using Report = std::function<void(runtime::WorkerDispatcher&, Timestamp)>;

  void add(Report report) {
    const std::scoped_lock lock(mutex);
    reports.push_back(std::move(report));
  }

  std::mutex mutex;
  std::vector<Report> reports;
};

SteppedNode::SteppedNode(const std::shared_ptr<Provider>& store, Registry registry, const RuntimeOptions& options,
                         std::uint64_t seed)
    : SteppedNode(store, runtime::make_node(options, store->capabilities(), std::move(registry), RandomIds(seed)),
                  options) {}

SteppedNode::SteppedNode(std::shared_ptr<Provider> store, Node node, const RuntimeOptions& options)
    : store_(std::move(store)),
      provider_(store_, options.metrics),
      id_(std::move(node.id)),
      turns_(std::move(node.turns)),
      orchestrations_(std::move(node.orchestrations)),
      activities_(std::move(node.activities)),
      logger_(options.logger.with_target(log_target::kActivity)),
      inbox_(std::make_shared<Inbox>()) {
  store_->register_node(node.info).value();
}

SteppedNode::~SteppedNode() = default;

std::size_t SteppedNode::choices() {
  // A wait that is over leads to more, which may be another wait.
  do {
    collect();
  } while (answer_awaits(false));
  return choices_.size();
}

void SteppedNode::step(std::size_t choice) {
  Choice chosen = std::move(choices_.at(choice));
  choices_.erase(choices_.begin() + static_cast<std::ptrdiff_t>(choice));
  std::visit([this](auto& what) { carry_out(std::move(what)); }, chosen);
  apply_effects();
}

Timestamp SteppedNode::wake_at() const {
  Timestamp at = std::min(orchestrations_.wake_at(), activities_.wake_at());
  if (await_turns_) at = std::min(at, await_turns_->await.deadline);
  if (await_activities_) at = std::min(at, await_activities_->await.deadline);
  return at;
}

void SteppedNode::drain() {
  orchestrations_.drain();
  activities_.drain();
}

void SteppedNode::stop_activities() {
  activities_.stop_all(store_->now());
  std::erase_if(choices_, [this](const Choice& choice) {
    const auto* started = std::get_if<Started>(&choice);
    if (started) activities_.returned(started->start.run);
    return started != nullptr;
  });
}

void SteppedNode::collect() {
  const Timestamp now = store_->now();
  std::vector<Inbox::Report> reports;
  {
    const std::scoped_lock lock(inbox_->mutex);
    reports.swap(inbox_->reports);
  }
  for (const Inbox::Report& report : reports) report(activities_, now);
  while (auto request = orchestrations_.next(now)) {
    if (auto* await = std::get_if<orchestration::Await>(&request->body)) {
      await_turns_ = AwaitTurns{request->id, std::move(*await)};
    } else {
      choices_.emplace_back(std::move(*request));
    }
  }
  while (auto request = activities_.next(now)) {
    if (auto* await = std::get_if<worker::Await>(&request->body)) {
      await_activities_ = AwaitActivities{request->id, std::move(*await)};
    } else {
      choices_.emplace_back(std::move(*request));
    }
  }
}

// A wait is asked whether it would be over, and never waited for. Answers whether one was.
bool SteppedNode::answer_awaits(bool all) {
  const Timestamp now = store_->now();
  bool over = false;
  if (await_turns_) {
    const auto found =
        all ? ProviderResult<bool>(false)
            : store_->wait_for_work({.orchestrations = await_turns_->await.fetch, .activities = {}}, now);
    if (all || !found || *found || now >= await_turns_->await.deadline) {
      const RequestId id = await_turns_->id;
      await_turns_.reset();
      over = true;
      orchestrations_.answer(id, found, now);
    }
  }
  if (await_activities_) {
    const auto found =
        all ? ProviderResult<bool>(false)
            : store_->wait_for_work({.orchestrations = {}, .activities = await_activities_->await.fetch}, now);
    if (all || !found || *found || now >= await_activities_->await.deadline) {
      const RequestId id = await_activities_->id;
      await_activities_.reset();
      over = true;
      activities_.answer(id, found, now);
    }
  }
  return over;
}

void SteppedNode::carry_out(orchestration::Request request) {
  const bool ends_wait = std::holds_alternative<orchestration::EndWait>(request.body);
  auto answer = orchestration::perform(provider_, *turns_, std::move(request.body));
  orchestrations_.answer(request.id, std::move(answer), store_->now());
  if (ends_wait) answer_awaits(true);
}

void SteppedNode::carry_out(worker::Request request) {
  const bool ends_wait = std::holds_alternative<worker::EndWait>(request.body);
  auto answer = worker::perform(provider_, *this, std::move(request.body));
  activities_.answer(request.id, std::move(answer), store_->now());
  if (ends_wait) answer_awaits(true);
}

// The whole function is one step: it runs here, and is over when this returns, unless it is asynchronous.
void SteppedNode::carry_out(Started started) {
  const RunId run = started.start.run;
  const auto call = std::make_shared<detail::ActivityCall>(
      std::move(started.start.about), store_, logger_,
      detail::ActivityCall::Reports{
          .ended =
              [inbox = inbox_, run](const ActivityOutcome& outcome) {
                inbox->add([run, outcome](auto& dispatcher, Timestamp now) { dispatcher.ended(run, outcome, now); });
              },
          .heartbeat =
              [inbox = inbox_, run](const Payload& details) {
                inbox->add(
                    [run, details](auto& dispatcher, Timestamp now) { dispatcher.heartbeat(run, details, now); });
              }});
  calls_[run] = call;
  (*started.start.handler)(call, started.start.input);
  collect();
  activities_.returned(run);
}

void SteppedNode::start(worker::Start start) {
  choices_.emplace_back(Started{std::move(start)});
}

void SteppedNode::stop(RunId run) {
  if (const auto call = calls_[run].lock()) call->request_stop();
  // One that has not begun does not begin any more.
  const auto waiting = std::find_if(choices_.begin(), choices_.end(), [run](const Choice& choice) {
    const auto* started = std::get_if<Started>(&choice);
    return started && started->start.run == run;
  });
  if (waiting == choices_.end()) return;
  choices_.erase(waiting);
  activities_.returned(run);
}

void SteppedNode::apply_effects() {
  OrchestrationEffects effects = orchestrations_.take_effects();
  for (const WithdrawnActivity& activity : effects.withdrawn) activities_.withdrawn(activity, store_->now());
}

}  // namespace perdure::testing
