// The worker dispatcher in the hands of a test, which carries out what it wants.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/message_codec.h"
#include "runtime/worker_dispatcher.h"

namespace perdure::test {

using namespace perdure::runtime;  // NOLINT: the parts are what these tests are about

class DispatchActivities : public ::testing::Test {
 protected:
  static constexpr Timestamp kBegin{Milliseconds(1'700'000'000'000)};

  DispatchActivities() {
    options.logger = Logger(log);
    options.metrics = Metrics(metrics);
  }

  WorkerDispatcher& dispatcher() {
    if (!made) {
      const auto handler = std::make_shared<const ActivityHandler>();
      made.emplace(
          options, capabilities, "node", CapabilityFilter(),
          [handler](const std::string& name) { return name == "Unknown" ? nullptr : handler; }, places, health);
    }
    return *made;
  }
  // Asks for everything that is wanted at this time. Without a want there must be a time to rest until, after a second
  // look at the latest, or its threads would go round and round. What keeps sessions and gauges up is answered, unless
  // a test is about it.
  void collect() {
    for (int look = 0; look < 2; ++look) {
      while (auto wanted = dispatcher().next(now)) {
        if (!upkeep && std::holds_alternative<worker::ReadGauges>(wanted->body)) {
          answer(wanted->id, worker::Gauges());
        } else if ((!upkeep && std::holds_alternative<worker::CleanupSessions>(wanted->body)) ||
                   (!upkeep && !keeps_sessions && std::holds_alternative<worker::RenewSessions>(wanted->body))) {
          answer(wanted->id, ProviderResult<std::size_t>(0U));
        } else {
          open.push_back(std::move(*wanted));
        }
      }
      if (dispatcher().wake_at() > now) return;
    }
    ADD_FAILURE() << "nothing is wanted, and there is no rest either";
  }
  template <class Body>
  std::size_t count() {
    collect();
    return static_cast<std::size_t>(std::count_if(
        open.begin(), open.end(), [](const worker::Request& each) { return std::holds_alternative<Body>(each.body); }));
  }
  // The oldest request of that kind, which has to be there.
  template <class Body>
  std::pair<RequestId, Body> take() {
    collect();
    for (auto each = open.begin(); each != open.end(); ++each) {
      if (auto* body = std::get_if<Body>(&each->body)) {
        std::pair<RequestId, Body> found{each->id, std::move(*body)};
        open.erase(each);
        return found;
      }
    }
    throw std::logic_error("the dispatcher does not want this");
  }
  void answer(RequestId id, worker::Answer what) { dispatcher().answer(id, std::move(what), now); }

  [[nodiscard]] WorkItem item(EventId id, const std::string& name = "Work", std::uint32_t attempt = 1,
                              ActivityTimeouts timeouts = {}) const {
    messages::ExecuteActivity activity;
    activity.schedule_id = id;
    activity.name = name;
    activity.input = "\"in\"";
    activity.timeouts = timeouts;
    activity.orchestration_name = "Flow";
    activity.orchestration_version = SemanticVersion{1, 2, 3};
    WorkItem fetched;
    fetched.record = encode_message({"i", ExecutionId{1}, std::nullopt, std::move(activity)});
    fetched.token = {"token " + std::to_string(id)};
    fetched.locked_until = now + options.worker_lock_timeout;
    fetched.attempt_count = attempt;
    return fetched;
  }
  // Scheduled by this incarnation of the instance.
  [[nodiscard]] WorkItem of_incarnation(EventId id, std::uint64_t incarnation) const {
    WorkItem fetched = item(id);
    Message message = decode_message(fetched.record);
    std::get<messages::ExecuteActivity>(message.body).incarnation = incarnation;
    fetched.record = encode_message(message);
    fetched.token = {"token " + std::to_string(id) + " of incarnation " + std::to_string(incarnation)};
    return fetched;
  }
  // An attempt of a RetryPolicy, after one that left this.
  [[nodiscard]] WorkItem retried(EventId id, const std::string& progress) const {
    WorkItem fetched = item(id);
    Message message = decode_message(fetched.record);
    std::get<messages::ExecuteActivity>(message.body).progress = progress;
    fetched.record = encode_message(message);
    return fetched;
  }
  [[nodiscard]] WorkItem in_session(EventId id, const std::string& session = "s") const {
    WorkItem fetched = item(id);
    fetched.record.session = session;
    return fetched;
  }
  // A wait for work, if there is one, is over.
  void fetch(std::vector<WorkItem> items = {}) {
    if (count<worker::Fetch>() == 0) answer(take<worker::Await>().first, ProviderResult<bool>(true));
    answer(take<worker::Fetch>().first, ProviderResult<WorkBatch>(WorkBatch{.now = now, .items = std::move(items)}));
  }
  // Carries the start of the next activity out.
  RunId start() {
    auto [id, body] = take<worker::Start>();
    answer(id, worker::Done());
    return body.run;
  }
  // Activities that run come to the age at which the store is asked to report their loss.
  void begin_watch() {
    collect();
    now += HeldWatch::kWatchAfter;
    EXPECT_EQ(count<worker::Watch>(), 1U);
  }
  // The function returns with this outcome.
  void finish(RunId run, ActivityOutcome outcome = Payload("\"out\"")) {
    dispatcher().ended(run, std::move(outcome), now);
    dispatcher().returned(run);
  }
  std::vector<WorkAck> ack(ProviderResult<void> outcome = {}) {
    auto [id, body] = take<worker::Ack>();
    answer(id, std::vector<ProviderResult<void>>(body.acks->size(), outcome));
    return *body.acks;
  }
  std::vector<Abandon> give_back() {
    auto [id, body] = take<worker::GiveBack>();
    answer(id, std::vector<ProviderResult<void>>(body.abandons.size()));
    return body.abandons;
  }
  // Carries out the next write of heartbeats, for all in the same way.
  std::vector<Heartbeat> beat(ProviderResult<Timestamp> outcome) {
    auto [id, body] = take<worker::Beat>();
    answer(id, std::vector<ProviderResult<Timestamp>>(body.heartbeats.size(), outcome));
    return body.heartbeats;
  }
  std::vector<Heartbeat> beat() { return beat(now + options.worker_lock_timeout); }
  RunId stopped() {
    auto [id, body] = take<worker::Stop>();
    answer(id, worker::Done());
    return body.run;
  }
  // The error in the completion of an activity that failed.
  static ErrorDetails failure(const WorkAck& ack) {
    const MessageBody body = decode_message(ack.completion.value()).body;
    const auto* failed = std::get_if<messages::ActivityFailed>(&body);
    EXPECT_NE(failed, nullptr) << kind_name(body);
    return failed ? failed->error : ErrorDetails();
  }
  static ApplicationError application_failure(const WorkAck& ack) {
    const ErrorDetails error = failure(ack);
    EXPECT_TRUE(std::holds_alternative<ApplicationError>(error)) << describe(error);
    return std::get<ApplicationError>(error);
  }
  // What the completion of an activity that failed leaves for the next attempt.
  static Payload progress_of(const WorkAck& ack) {
    return std::get<messages::ActivityFailed>(decode_message(ack.completion.value()).body).progress;
  }
  static ProviderError error(ProviderErrorKind kind) { return {kind, "no luck"}; }

  RuntimeOptions options;
  Capabilities capabilities{.wake_ups = true};
  std::shared_ptr<WorkPlaces> places;   // for those who claim
  std::shared_ptr<StoreHealth> health;  // one of its own unless set
  bool upkeep = false;                  // the test answers it
  bool keeps_sessions = false;          // the test answers renewals of sessions
  Timestamp now = kBegin;
  std::deque<worker::Request> open;
  std::shared_ptr<CapturingLogSink> log = std::make_shared<CapturingLogSink>();
  std::shared_ptr<CapturingMetrics> metrics = std::make_shared<CapturingMetrics>();

 private:
  std::optional<WorkerDispatcher> made;
};

}  // namespace perdure::test
