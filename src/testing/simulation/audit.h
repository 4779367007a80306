// Audit: a second set of books. It is told of everything that reached the store and what the store answered, keeps its
// own account of locks, queues and histories, and says where the two differ.
//
// It knows the contract (docs/provider-guide.md) and nothing of how a store keeps it. What is wrong is written down as
// a sentence, and the audit goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <perdure/provider.h>
#include <perdure/provider_admin.h>

namespace perdure::testing::simulation {

class Audit {
 public:
  using ActivityKey = std::tuple<std::string, ExecutionId, EventId>;  // instance, execution, schedule id
  using ExecutionKey = std::pair<std::string, ExecutionId>;
  // Whether something may have kept a node from its work since then.
  using Excuse = std::function<bool(const std::string& node, Timestamp since)>;

  [[nodiscard]] const std::vector<std::string>& problems() const noexcept { return problems_; }
  // The next time at which something may happen by itself: a message becomes visible, a lock ends, a delay is over.
  [[nodiscard]] std::optional<Timestamp> next_moment(Timestamp after) const;
  // Nothing is queued and nothing is locked.
  [[nodiscard]] bool at_rest(Timestamp now) const;
  // Whether only messages for ended instances are queued, and nothing is locked.
  [[nodiscard]] bool only_ended_are_left(Timestamp now) const;
  [[nodiscard]] const std::map<ExecutionKey, std::vector<EventRecord>>& histories() const noexcept {
    return histories_;
  }
  [[nodiscard]] std::vector<std::string> instances() const;
  // The first start of each instance that has not begun.
  [[nodiscard]] std::vector<QueuedStart> queued_starts() const;
  // Messages that clients sent to ids without an instance.
  [[nodiscard]] std::size_t orphans() const;
  // The ids for which a store must have such messages.
  [[nodiscard]] std::vector<std::string> orphan_ids() const;
  // Turns that the store has accepted.
  [[nodiscard]] std::size_t commits() const noexcept { return commits_.size(); }
  // Activities with a schedule-to-start timeout that does not strike any more, because they may have begun: a node was
  // given them to run, and their lock ended without an outcome or an abandon, or the abandon says that they have begun.
  [[nodiscard]] const std::set<ActivityKey>& fetched_in_vain() const noexcept { return fetched_in_vain_; }
  // Whose token it is or was; empty: nobody's.
  [[nodiscard]] std::string instance_of(const LockToken& token) const;
  // The execution that it is in; absent before its first commit.
  [[nodiscard]] std::optional<ExecutionId> execution_of(const std::string& instance) const;

  // Without one, nobody is asked why a lock ran out.
  void set_excuse(Excuse excuse) { excuse_ = std::move(excuse); }
  // How long after its last use a node releases a session. Without it, sessions are not checked.
  void set_session_idle(Milliseconds idle) { session_idle_ = idle; }

  // ---- what reached the store, with its answers ----

  void fetched(const OrchestrationFetch& fetch, const OrchestrationBatch& batch);
  void committed(const TurnCommit& commit, const ProviderResult<CommitAnswer>& answer, Timestamp now);
  void abandoned(const Abandon& abandon, const ProviderResult<void>& answer, Timestamp now);
  void renewed(const LockToken& token, const ProviderResult<Timestamp>& until, Timestamp now);
  void sent(const MessageRecord& message, const ProviderResult<void>& answer, Timestamp now);
  void enqueued(const MessageRecord& message, Timestamp now);
  void started(const MessageRecord& start, StartOutcome outcome, Timestamp now);

  void work_fetched(const WorkFetch& fetch, const WorkBatch& batch);
  void work_acked(const WorkAck& ack, const ProviderResult<void>& answer, Timestamp now);
  void work_abandoned(const Abandon& abandon, const ProviderResult<void>& answer, Timestamp now);
  void work_renewed(const LockToken& token, const ProviderResult<Timestamp>& until, Timestamp now);
  void beaten(const Heartbeat& heartbeat, const ProviderResult<Timestamp>& until, Timestamp now);
  void sessions_renewed(std::span<const std::string> owners, Milliseconds extend_for, Milliseconds idle_timeout,
                        const ProviderResult<std::size_t>& count, Timestamp now);

  // The store did not take the turn or the outcome under this token. What then ends the lock counts no attempt.
  void failed(const LockToken& token) { failed_.insert(token.value); }
  // A problem that another part of the simulation has found.
  void report(std::string text) { problem(std::move(text)); }
  // Reports sessions that ended too early, and those that idle nodes have not released.
  void check_sessions(Timestamp now);

  // Something may happen by itself then.
  void expect(Timestamp at) { moment(at); }
  // The store's clock was set forward, and the store extends every lock that has not expired by then.
  void extend_locks(Timestamp then, Milliseconds by);
  // A client has deleted these, all at once. Messages queued for them are gone too, except starts of other instances'
  // children; and so are the messages that they had queued for children that have not begun.
  void deleted(const std::set<std::string>& instances);

 private:
  struct Lock {
    std::string token;
    Timestamp until{};
    std::string keeper;  // who kept it with a commit
    std::string holder;  // the node that fetched it
    Timestamp since{};
    Milliseconds length{};    // from one renewal to the end
    CommitId claimed_by = 0;  // of an activity: the commit that claimed it
  };
  // An instance as it was when it sent something. One that has its id later is another.
  struct Sender {
    std::string instance;
    CommitId incarnation = 0;
    bool operator==(const Sender&) const = default;
  };
  struct Queued {
    MessageRecord record;
    Timestamp visible_at{};
    std::uint64_t position = 0;
    std::optional<Sender> sender;     // absent: a client, or an activity
    std::optional<Sender> meant_for;  // outcomes of children: the parent that scheduled the child
    bool may_be_discarded = false;    // its sender or its receiver is gone
    bool may_be_dropped = false;      // it was an orphan's for longer than the store keeps such messages
  };
  using Queue = std::list<Queued>;
  struct Instance {
    Queue queue;
    std::optional<Lock> lock;
    std::map<MessageId, Queue::iterator> fetched;  // under the lock
    std::uint32_t attempts = 0;
    std::optional<ExecutionId> execution;  // absent before the first commit
    EventId last_event = 0;
    bool exists = false;
    bool ended = false;  // its execution, and there is no next one
    std::optional<Timestamp> not_before;
    bool end_requested = false;   // since it was fetched last
    bool may_come_early = false;  // perhaps the end of its delay was requested; until the next fetch
    std::optional<CommitId> last_commit;
    std::string name;                     // of its orchestration
    std::optional<ParentLink> parent;     // as its first commit says
    std::optional<Sender> parent_sender;  // the sender of the start that it began with
    CommitId incarnation = 0;             // its first commit
    bool lost_start = false;              // a start is gone; perhaps the lock and the count of attempts with it
    std::optional<SemanticVersion> pinned_version;  // of the execution
  };
  struct Activity {
    MessageRecord record;
    std::optional<Lock> lock;
    std::uint32_t attempts = 0;
    Timestamp visible_at{};
    Payload details;         // of its heartbeats
    std::string taken_over;  // token of the last lock that a fetch took over, if that fetch still counts
    bool has_begun = false;  // an abandon that the store took says so
  };
  struct Session {
    std::string owner;
    Timestamp until{};
    Timestamp last_use{};
    Timestamp since{};      // the last claim or renewal
    Milliseconds length{};  // from there to the end
    bool checked = false;   // there is nothing to say of it until it is claimed again
  };

  void problem(std::string text) { problems_.push_back(std::move(text)); }
  void moment(Timestamp at) { moments_.insert(at); }
  // There is an instance, or a start that is queued.
  [[nodiscard]] bool is_known(const std::string& id) const;
  // Whether the message ends the delay of the instance; the cancel of another parent does not. Returns std::nullopt if
  // it depends on a start that the store may have deleted.
  [[nodiscard]] static std::optional<bool> ends_delay(const Instance& instance, const MessageRecord& message);
  // Who has the lock, if this is the token of it and its time is not over.
  [[nodiscard]] Instance* owner_of(const LockToken& token, Timestamp now);
  [[nodiscard]] Activity* worker_of(const LockToken& token, Timestamp now);
  void check_messages(Instance& instance, const OrchestrationFetch& fetch, const OrchestrationItem& item,
                      Timestamp now);
  void check_order(const Queued& message, const Queued*& last);
  void check_end_requests(const Instance& instance, const std::set<const Queued*>& found, Timestamp now);
  // Neither an instance nor a queued start.
  [[nodiscard]] static bool is_orphan(const Instance& instance);
  // The messages that a fetch at this time may discard before it selects instances.
  void note_old_orphans(Timestamp now);
  // Everything that a fetch could take and did not, although it had room.
  void check_left_out(const OrchestrationFetch& fetch, const OrchestrationBatch& batch);
  void check_left_out(const WorkFetch& fetch, const WorkBatch& batch);
  [[nodiscard]] static bool is_ready(const Instance& instance, const OrchestrationFetch& fetch, Timestamp now);
  // What is given back at once was not tried, so it does not count; nor does what the store failed to take.
  void check_count(const std::string& what, const Abandon& abandon);
  void check_session(const std::string& id, Session& session, Timestamp now);
  // A lock that was taken over.
  void check_lapse(const std::string& what, const std::optional<Lock>& lock, Timestamp now);
  void check_refusal(const TurnCommit& commit, const ProviderError& error, Timestamp now);
  // Returns the consumed messages.
  Queue consume(const std::string& id, Instance& instance, const TurnCommit& commit);
  void append(const std::string& id, Instance& instance, const TurnCommit& commit);
  // ---- parents and children (audit_links.cpp) ----
  void note_parent(Instance& instance, const TurnCommit& commit, const Queue& consumed);
  void check_cancel(const std::string& id, const Instance& instance, const TurnCommit& commit, const Queue& consumed);
  void check_outcomes(const std::string& id, const Instance& instance, const TurnCommit& commit, const Queue& consumed);
  void send(const std::string& id, const Instance& instance, const TurnCommit& commit, const Queue& consumed,
            Timestamp now);
  [[nodiscard]] const Instance* alive(const std::optional<Sender>& sender) const;
  void forget_messages_of(const Sender& sender);
  void remove(const std::set<std::string>& instances);
  void claim(const TurnCommit& commit, const CommitAnswer& answer, Timestamp now);
  // A commit that came again lists what it claimed and still holds.
  void check_claims(const std::string& id, const TurnCommit& commit, const CommitAnswer& answer, Timestamp now);
  void complete(const std::string& id, const LockToken& token, Timestamp now);
  void lock_activity(const ActivityKey& key, Activity& activity, const LockToken& token, Timestamp until,
                     const WorkFetch& fetch, Timestamp now);
  void claim_session(const std::string& session, const WorkFetch& fetch, Timestamp now);
  void use_session(const Activity& activity, Timestamp now);
  void remove_activity(const ActivityKey& key);
  void note_begun(const ActivityKey& key, Activity& activity, const Abandon& abandon);

  std::map<std::string, Instance> instances_;
  std::map<std::string, std::string> instance_of_;  // by token, for ever: tokens never come twice
  std::map<ActivityKey, Activity> activities_;
  std::map<std::string, ActivityKey> activity_of_;  // by token, for ever
  std::map<ExecutionKey, std::vector<EventRecord>> histories_;
  std::set<CommitId> commits_;  // that were accepted
  std::map<std::string, Session> sessions_;
  std::optional<Milliseconds> session_idle_;
  std::set<std::string> failed_;  // tokens of turns and outcomes that the store did not take
  std::set<ActivityKey> fetched_in_vain_;
  std::multiset<Timestamp> moments_;
  std::uint64_t last_position_ = 0;
  Excuse excuse_;
  std::vector<std::string> problems_;
};

}  // namespace perdure::testing::simulation
