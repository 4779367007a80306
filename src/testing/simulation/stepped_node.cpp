#include "testing/simulation/stepped_node.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "testing/simulation/request_text.h"

namespace perdure::testing {

// The parts that the node is made of.
namespace orchestration = runtime::orchestration;
namespace worker = runtime::worker;
using runtime::Node;
using runtime::RandomIds;
using runtime::RequestId;
using runtime::RunId;

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
  } while (answer_awaits(false) || (choices_.empty() && std::exchange(holds_updates_, false)));
  return choices_.size();
}

SteppedNode::Choice SteppedNode::take(std::size_t choice) {
  Choice taken = std::move(choices_.at(choice));
  choices_.erase(choices_.begin() + static_cast<std::ptrdiff_t>(choice));
  return taken;
}

void SteppedNode::step(std::size_t choice) {
  std::optional<Choice> next = take(choice);
  while (next) next = carry_out(std::move(*next));
}

void SteppedNode::step_without_answer(std::size_t choice) {
  if (auto left = carry_out(take(choice))) choices_.push_back(std::move(*left));
}

bool SteppedNode::calls_store(std::size_t choice) const {
  const Choice& chosen = choices_.at(choice);
  if (const auto* turn = std::get_if<orchestration::Request>(&chosen)) return simulation::calls_store(turn->body);
  if (const auto* work = std::get_if<worker::Request>(&chosen)) return simulation::calls_store(work->body);
  return false;
}

bool SteppedNode::runs_activity(std::size_t choice) const {
  return std::holds_alternative<Started>(choices_.at(choice));
}

bool SteppedNode::writes(std::size_t choice) const {
  const Choice& chosen = choices_.at(choice);
  if (const auto* turn = std::get_if<orchestration::Request>(&chosen)) {
    return std::holds_alternative<orchestration::Commit>(turn->body);
  }
  const auto* work = std::get_if<worker::Request>(&chosen);
  return work && std::holds_alternative<worker::Ack>(work->body);
}

std::string SteppedNode::describe(std::size_t choice) const {
  struct {
    std::string operator()(const orchestration::Request& request) const { return simulation::describe(request.body); }
    std::string operator()(const worker::Request& request) const { return simulation::describe(request.body); }
    std::string operator()(const TurnAnswer& answer) const {
      return "hear the answer to turn request " + std::to_string(answer.id);
    }
    std::string operator()(const WorkAnswer& answer) const {
      return "hear the answer to work request " + std::to_string(answer.id);
    }
    std::string operator()(const Started& started) const {
      const auto& about = started.start.about;
      return "run activity '" + about.activity_name + "' " + std::to_string(about.activity_id) + " of '" +
             about.instance_id + "'";
    }
  } text;
  return std::visit(text, choices_.at(choice));
}

Timestamp SteppedNode::wake_at() const {
  Timestamp at = std::min(orchestrations_.wake_at(), activities_.wake_at());
  if (await_turns_) at = std::min(at, await_turns_->await.deadline);
  if (await_activities_) at = std::min(at, await_activities_->await.deadline);
  if (watch_activities_) at = std::min(at, watch_activities_->watch.deadline);
  return at == Timestamp::max() || at == Timestamp::min() ? at : at - clock_offset_;
}

void SteppedNode::drain() {
  orchestrations_.drain();
  activities_.drain();
}

void SteppedNode::stop_activities() {
  orchestrations_.stop_repeating();
  activities_.stop_all(now());
  std::erase_if(choices_, [this](const Choice& choice) {
    const auto* started = std::get_if<Started>(&choice);
    if (started) activities_.returned(started->start.run);
    return started != nullptr;
  });
}

std::vector<std::string> SteppedNode::running_activities() const {
  std::vector<std::string> running;
  for (const auto& [run, weak] : calls_) {
    const auto call = weak.lock();
    if (!call || call->ended() || call->stop_token().stop_requested()) continue;
    running.push_back("activity '" + call->about.activity_name + "' " + std::to_string(call->about.activity_id) +
                      " of '" + call->about.instance_id + "'");
  }
  return running;
}

void SteppedNode::notice_jump() {
  const Milliseconds by = jumps_.seen(runtime::ClockJumps::read(*store_));
  if (by.count() <= 0) return;
  orchestrations_.clock_jumped(by);
  activities_.clock_jumped(by);
}

void SteppedNode::collect() {
  notice_jump();
  const Timestamp at = this->now();
  std::vector<Inbox::Report> reports;
  {
    const std::scoped_lock lock(inbox_->mutex);
    reports.swap(inbox_->reports);
  }
  for (const Inbox::Report& report : reports) report(activities_, at);
  // Asking the worker may end an activity for which a turn waits, and the other way round, so both are asked again.
  do {
    apply_effects();
    ask(at);
  } while (!holds_updates_ && (orchestrations_.has_news() || activities_.has_news()));
}

void SteppedNode::ask(Timestamp at) {
  while (auto request = orchestrations_.next(at)) {
    if (auto* await = std::get_if<orchestration::Await>(&request->body)) {
      await_turns_ = AwaitTurns{request->id, std::move(*await)};
    } else {
      choices_.emplace_back(std::move(*request));
    }
  }
  while (auto request = activities_.next(at)) {
    if (auto* await = std::get_if<worker::Await>(&request->body)) {
      await_activities_ = AwaitActivities{request->id, std::move(*await)};
    } else if (auto* watch = std::get_if<worker::Watch>(&request->body)) {
      watch_activities_ = WatchActivities{request->id, std::move(*watch)};
    } else {
      choices_.emplace_back(std::move(*request));
    }
  }
}

// A wait is asked whether it would be over, and never waited for. Answers whether one was.
bool SteppedNode::answer_awaits(bool all) {
  const Timestamp here = now();
  const Timestamp there = store_->now();
  bool over = false;
  if (await_turns_) {
    const auto found =
        all ? ProviderResult<bool>(false)
            : store_->wait_for_work({.orchestrations = await_turns_->await.fetch, .activities = {}}, there);
    if (all || !found || *found || here >= await_turns_->await.deadline) {
      const RequestId id = await_turns_->id;
      await_turns_.reset();
      over = true;
      orchestrations_.answer(id, found, here);
    }
  }
  if (await_activities_) {
    const auto found =
        all ? ProviderResult<bool>(false)
            : store_->wait_for_work({.orchestrations = {}, .activities = await_activities_->await.fetch}, there);
    if (all || !found || *found || here >= await_activities_->await.deadline) {
      const RequestId id = await_activities_->id;
      await_activities_.reset();
      over = true;
      activities_.answer(id, found, here);
    }
  }
  if (watch_activities_) {
    const auto lost = all ? ProviderResult<bool>(false)
                          : store_->wait_for_work(
                                {.orchestrations = {}, .activities = {}, .held = watch_activities_->watch.held}, there);
    if (all || !lost || *lost || here >= watch_activities_->watch.deadline) {
      const RequestId id = watch_activities_->id;
      watch_activities_.reset();
      over = true;
      activities_.answer(id, lost, here);
    }
  }
  return over;
}

std::optional<SteppedNode::Choice> SteppedNode::carry_out(Choice choice) {
  return std::visit([this](auto& what) { return carry_out(std::move(what)); }, choice);
}

std::optional<SteppedNode::Choice> SteppedNode::carry_out(orchestration::Request request) {
  const bool ends_wait = std::holds_alternative<orchestration::EndWait>(request.body);
  TurnAnswer answer{request.id, orchestration::perform(provider_, *turns_, std::move(request.body))};
  if (ends_wait) answer_awaits(true);
  return answer;
}

std::optional<SteppedNode::Choice> SteppedNode::carry_out(worker::Request request) {
  const bool ends_wait = std::holds_alternative<worker::EndWait>(request.body);
  WorkAnswer answer{request.id, worker::perform(provider_, *this, std::move(request.body))};
  if (ends_wait) answer_awaits(true);
  return answer;
}

std::optional<SteppedNode::Choice> SteppedNode::carry_out(TurnAnswer answer) {
  orchestrations_.answer(answer.id, std::move(answer.answer), now());
  apply_effects();
  return std::nullopt;
}

std::optional<SteppedNode::Choice> SteppedNode::carry_out(WorkAnswer answer) {
  activities_.answer(answer.id, std::move(answer.answer), now());
  apply_effects();
  return std::nullopt;
}

// The whole function is one step: it runs here, and is over when this returns, unless it is asynchronous.
std::optional<SteppedNode::Choice> SteppedNode::carry_out(Started started) {
  const RunId run = started.start.run;
  const auto call = std::make_shared<perdure::detail::ActivityCall>(
      std::move(started.start.about), store_, logger_,
      perdure::detail::ActivityCall::Reports{
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
  return std::nullopt;
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
  if (!holds_updates_) runtime::exchange_news(orchestrations_, activities_, now());
}

}  // namespace perdure::testing
