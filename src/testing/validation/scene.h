// A store with the few moves that most validation tests are made of.
#pragma once

#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/provider.h>
#include <perdure/provider_admin.h>
#include <perdure/testing/provider_validation.h>
#include "testing/validation/check.h"

namespace perdure::testing {

using Where = std::source_location;

inline constexpr Milliseconds kLockTimeout{5'000};
inline constexpr Milliseconds kWorkLock{30'000};

// ---- Records. Bodies are real, so that the shared decoder can read them ----

[[nodiscard]] MessageRecord start_message(const std::string& instance, const std::string& name = "Flow",
                                          const std::string& input = "\"in\"");
// The link to a child that event 2 of the parent's first execution scheduled.
[[nodiscard]] ParentLink link_to(const std::string& parent, std::uint64_t incarnation = 1);
[[nodiscard]] MessageRecord child_start_message(const std::string& instance, const std::string& parent);
[[nodiscard]] MessageRecord parent_cancel_message(const std::string& instance, const std::string& parent);
[[nodiscard]] MessageRecord continue_message(const std::string& instance, const std::string& name = "Flow");
[[nodiscard]] MessageRecord event_message(const std::string& instance, const std::string& event,
                                          const std::string& data = "\"data\"");
[[nodiscard]] MessageRecord queue_message(const std::string& instance, const std::string& data = "\"data\"");
[[nodiscard]] MessageRecord cancel_message(const std::string& instance);
[[nodiscard]] MessageRecord terminate_message(const std::string& instance);
[[nodiscard]] MessageRecord timer_message(const std::string& instance, EventId schedule_id, Timestamp fire_at);
[[nodiscard]] MessageRecord completion(const MessageRecord& activity, const std::string& result = "\"done\"");
[[nodiscard]] MessageRecord failure(const MessageRecord& activity, const std::string& message = "it broke");
[[nodiscard]] MessageRecord activity(const std::string& instance, EventId id, const std::string& name = "Work",
                                     ExecutionId execution = kFirstExecutionId);
[[nodiscard]] MessageRecord in_session(MessageRecord activity, const std::string& session);
[[nodiscard]] MessageRecord tagged(MessageRecord activity, const std::string& tag);

// The first event of an execution.
[[nodiscard]] EventRecord started_event(const std::string& name = "Flow");
// Any other event: a scheduled activity of that id.
[[nodiscard]] EventRecord event(EventId id, const std::string& activity_name = "Work");
[[nodiscard]] std::vector<EventRecord> events(EventId first, EventId last);

class Scene {
 public:
  explicit Scene(ProviderFactory& factory) : factory_(factory), store_(factory.create()) {}

  [[nodiscard]] Provider& store() noexcept { return *store_; }
  [[nodiscard]] const std::shared_ptr<Provider>& shared_store() const noexcept { return store_; }
  [[nodiscard]] ProviderAdmin& admin(Where where = Where::current());
  [[nodiscard]] ProviderFactory& factory() noexcept { return factory_; }
  void advance(Milliseconds by) { factory_.advance(by); }
  void step(Milliseconds by) { factory_.step(by); }
  [[nodiscard]] Timestamp now() { return store_->now(); }

  // ---- The orchestrator queue ----

  void enqueue(const MessageRecord& message, Where where = Where::current());
  void enqueue_start(const std::string& instance, const std::string& name = "Flow", Where where = Where::current());
  // One instance must be there.
  OrchestrationItem fetch(OrchestrationFetch options = {}, Where where = Where::current());
  void fetch_nothing(OrchestrationFetch options = {}, Where where = Where::current());
  // Consumes all messages of the item, with a fresh commit id, and nothing else.
  [[nodiscard]] TurnCommit commit_of(const OrchestrationItem& item);
  // The first turn: started metadata and event 1, with pin `pinned`.
  [[nodiscard]] TurnCommit first_commit_of(const OrchestrationItem& item, const std::string& name = "Flow");
  CommitAnswer ack(const TurnCommit& commit, Where where = Where::current());
  [[nodiscard]] CommitId new_commit_id() noexcept { return ++last_commit_id_; }

  // Starts, fetches and commits the first turn.
  void create(const std::string& instance, const std::string& name = "Flow", Where where = Where::current());
  // The same with activities scheduled by that turn, ids 2, 3, ... (events for them included).
  void create_with_activities(const std::string& instance, std::vector<MessageRecord> activities,
                              Where where = Where::current());
  void create_child(const std::string& instance, const std::string& parent, Where where = Where::current());
  // Wakes the instance with an event, fetches it (nothing else may be ready) and returns it locked.
  OrchestrationItem wake(const std::string& instance, Where where = Where::current());
  // One more turn: wakes the instance and commits one event with what `change` does to the commit.
  template <class Change>
  CommitAnswer turn(const std::string& instance, Change change, Where where = Where::current()) {
    const OrchestrationItem item = wake(instance, where);
    TurnCommit commit = commit_of(item);
    commit.events.push_back(event(item.last_event_id + 1));
    change(commit);
    return ack(commit, where);
  }
  // One more turn that ends the current execution.
  void end(const std::string& instance, ExecutionStatus status = ExecutionStatus::kCompleted,
           Payload output = "\"out\"", Where where = Where::current());
  // One more turn that continues as new; the next execution's first turn is committed too.
  void continue_as_new(const std::string& instance, Where where = Where::current());

  // ---- The worker queue ----

  void enqueue_activity(const MessageRecord& activity, Where where = Where::current());
  WorkItem fetch_work(WorkFetch options = {}, Where where = Where::current());
  void fetch_no_work(WorkFetch options = {}, Where where = Where::current());
  // Removes the activity and enqueues its completion.
  void ack_work(const WorkItem& item, Where where = Where::current());

 private:
  ProviderFactory& factory_;
  std::shared_ptr<Provider> store_;
  CommitId last_commit_id_ = 0;
};

// ---- Short option objects ----

[[nodiscard]] WorkFetch any_tag();
[[nodiscard]] WorkFetch as_worker(const std::string& session_owner, Milliseconds session_lock = Milliseconds{30'000});
[[nodiscard]] OrchestrationFetch pinned_within(const std::string& min, const std::string& max);

[[nodiscard]] inline bool has_fast_path(Scene& scene) {
  return scene.store().capabilities().fast_path;
}

}  // namespace perdure::testing
