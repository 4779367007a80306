// WorkerDispatcher: which activities this node runs, and what is to be done with each of them next.
//
// Like the orchestration dispatcher it does nothing by itself: next() says what is wanted, answers come back, and
// whoever runs activities reports their ends.
//
//   fetched ─┬─► started ─► ended ─► acknowledged
//            ├─► acknowledged as failed: expired, or tried too often
//            └─► given back: no handler here, or not decodable
//
// A call that fails because of the store is repeated while the lock can be renewed, and does not count as an attempt.
// Until the store works again the dispatcher fetches one activity at a time. If the store refuses an outcome because of
// its data, or repeatedly while it accepts other outcomes, the activity ends as poison, without another run.
//
// The lock of a run is renewed until its outcome is in the store, and what its heartbeats tell is written now and then.
// A run whose outcome nobody wants any more (cancelled, lock lost, shutdown) is told to stop; if it does not return
// within the grace period, its thread is replaced. Used by one thread at a time.
//
// The fast path: an activity that a commit of this node claimed comes without a fetch, and its outcome is offered to
// the orchestration dispatcher first. Its lock is renewed until there is a verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/runtime_options.h>
#include "runtime/bounded_label.h"
#include "runtime/held_watch.h"
#include "runtime/lease.h"
#include "runtime/local_work.h"
#include "runtime/store_gate.h"
#include "runtime/store_health_threads.h"
#include "runtime/work_places.h"
#include "runtime/work_search.h"
#include "runtime/worker_requests.h"

namespace perdure::runtime {

using ActivityResolver = std::function<std::shared_ptr<const ActivityHandler>(const std::string& name)>;

// How the worker of a node fetches; limit and suspects aside.
[[nodiscard]] WorkFetch work_fetch(const RuntimeOptions& options, const std::string& owner,
                                   const CapabilityFilter& filter);

class WorkerDispatcher {
 public:
  // `places` are shared with the dispatcher that claims activities; null: no claims. `health`: null means its own.
  WorkerDispatcher(const RuntimeOptions& options, const Capabilities& store, const std::string& owner,
                   const CapabilityFilter& filter, ActivityResolver resolve,
                   std::shared_ptr<WorkPlaces> places = nullptr, std::shared_ptr<StoreHealth> health = nullptr);

  // Nothing: only an answer, a report, or the time of wake_at(), changes anything.
  [[nodiscard]] std::optional<worker::Request> next(Timestamp now);
  [[nodiscard]] Timestamp wake_at() const noexcept;
  void answer(RequestId id, worker::Answer answer, Timestamp now);

  // The user's code has come to an outcome. Without effect on a run whose outcome is not wanted any more.
  void ended(RunId id, ActivityOutcome outcome, Timestamp now);
  // The user's code is alive; details, if there are any, replace those before. Without effect on a run whose outcome is
  // not wanted any more.
  void heartbeat(RunId id, Payload details, Timestamp now);
  // The thread of the run ends before the function returns. The activity is abandoned, which counts as an attempt.
  void abandoned(RunId id, Timestamp now);
  // The user's function has returned.
  void returned(RunId id);
  // The thread of the run has ended, and no other could be made. The dispatcher asks for one again later.
  void thread_lost(RunId id, Timestamp now);
  // A turn that was committed here has withdrawn it.
  void withdrawn(const WithdrawnActivity& activity, Timestamp now);
  // What the orchestration dispatcher says.
  void hear(NewsForWorker news, Timestamp now);
  // What it is to be told; to be asked for behind every call.
  [[nodiscard]] NewsForTurns take_news() { return std::exchange(news_, {}); }
  [[nodiscard]] bool has_news() const noexcept { return !news_.empty(); }

  // The store's clock was set forward by this much, before anything is told or asked with the new time.
  void clock_jumped(Milliseconds by);

  // Begins nothing new.
  void drain();
  // Stops what still runs, and gives it back without counting it.
  void stop_all(Timestamp now);
  // Nothing is locked and nothing is under way.
  [[nodiscard]] bool idle() const noexcept { return runs_.empty() && outstanding_.empty() && !gives_up_sessions(); }
  // The same, but for a wait for work.
  [[nodiscard]] bool resting() const noexcept { return runs_.empty() && only_waits(); }
  // Nothing is left to be told to the store or to an activity; functions may still run.
  [[nodiscard]] bool all_told() const noexcept;
  // Activities whose function has not returned, by name.
  [[nodiscard]] std::vector<std::string> running_names() const;

 private:
  using Identity = ActivityOfInstance;
  struct Run {
    Lease lease;
    MessageRecord record;  // without its body
    std::uint32_t attempt = 1;
    std::uint64_t incarnation = 0;  // of the instance; known once the item is decoded, or from the claim
    Timestamp started_at{};
    std::string orchestration{};                    // who scheduled it, once that is known
    std::optional<SemanticVersion> version{};       // of that
    const MetricId* counted_when_stored = nullptr;  // how it ended without having run
    std::optional<Timestamp> deadline;              // start-to-close
    std::optional<Timestamp> silent_at;             // when it will have been silent for too long
    std::optional<Timestamp> replace_thread_at;     // told to stop, and given this much time
    bool has_begun = false;                         // its code may have run
    bool starting = false;                          // handed over, and not known to have arrived
    bool stop_wanted = false;                       // to be told once it has arrived
    bool returned = true;                           // no thread is occupied
    bool thread_lost = false;                       // its thread has ended, and its slot waits for another one
    bool wanted = false;                            // the outcome is still to come, and somebody waits for it
    bool settled = false;                           // the store knows what there is to know
    bool claimed = false;                           // by a commit here, and the outcome is still to be offered
    bool offered = false;                           // the verdict is still to come
    std::optional<Timestamp> offer_at{};            // at the latest; earlier if its thread is back
    Repeats repeats{};                              // of its acknowledgement or abandon
    bool store_failed = false;                      // a call for it failed, which may cost it its lock
    bool ends_as_poison = false;                    // the store has refused its outcome for good
    Abandon abandon{};                              // once it is abandoned
    std::optional<WorkAck> ack;                     // to be sent, or sent and to be sent again
    Payload progress;                               // of its latest heartbeat, or of the attempt before
    bool progressed = false;                        // the store does not have it
    bool beating = false;                           // a heartbeat call is in progress
    bool watched = false;                           // the store is asked to report its loss
    Timestamp beat_at{};                            // no heartbeat call before this time
  };
  struct Outstanding {
    std::size_t kind = 0;
    std::vector<RunId> runs;
  };

  [[nodiscard]] worker::Request request(worker::RequestBody body, std::vector<RunId> runs = {});
  [[nodiscard]] std::optional<worker::Request> wanted(Timestamp now);
  [[nodiscard]] std::optional<worker::Request> stop_or_replace(Timestamp now);
  // Whether a new thread is to be asked for now. It joins those of stuck runs, or takes the place of one that ended.
  [[nodiscard]] bool gets_thread(RunId id, Run& run);
  // No thread could be made: the slot of the run stays occupied until the next try.
  void not_replaced(const worker::NoThread& missing, Timestamp now);
  [[nodiscard]] std::optional<worker::Request> renew(Timestamp now);
  [[nodiscard]] std::optional<worker::Request> beat(Timestamp now);
  [[nodiscard]] std::optional<worker::Request> acknowledge(Timestamp now);
  [[nodiscard]] std::optional<worker::Request> give_back();
  [[nodiscard]] std::optional<worker::Request> start();
  [[nodiscard]] std::optional<worker::Request> upkeep(Timestamp now);
  [[nodiscard]] std::optional<worker::Request> keep_sessions(Timestamp now);
  [[nodiscard]] std::optional<worker::Request> watch(Timestamp now);
  [[nodiscard]] bool must_watch_more(Timestamp now);
  [[nodiscard]] std::optional<worker::Request> look_for_work(Timestamp now);
  // Nothing is asked of the store but to wait.
  [[nodiscard]] bool only_waits() const noexcept {
    return outstanding_.size() == (search_.awaiting() ? 1U : 0U) + (watch_.is_watching() ? 1U : 0U);
  }
  [[nodiscard]] WorkFetch fetch_options(std::size_t limit) const;
  // Places that are free, and those of them that nobody has reserved.
  [[nodiscard]] std::size_t free_places() const noexcept;
  // While the store is unavailable: one, as a probe.
  [[nodiscard]] std::size_t fetch_limit(std::size_t places) const noexcept;
  [[nodiscard]] std::size_t room() const noexcept;
  void publish_places() const noexcept;

  void fetched(ProviderResult<WorkBatch> batch, Timestamp now);
  void awaited(const ProviderResult<bool>& found, Timestamp now);
  void watched(const Outstanding& request, const ProviderResult<bool>& lost, Timestamp now);
  void acknowledged(const Outstanding& request, const std::vector<ProviderResult<void>>& answers, Timestamp now);
  void ack_failed(RunId id, const ProviderError& error, bool alone, Timestamp now);
  void end_as_poison(RunId id, const ProviderError& error);
  void store_failed(Run& run, StoreCall call, const ProviderError& error, Timestamp now);
  // A call that writes a lock has succeeded.
  void lock_written(Timestamp now);
  [[nodiscard]] bool repeats_anything() const noexcept;
  // The attempt does not count: the store, and not the activity, is why its lock ended.
  void give_back_or_settle(RunId id);
  void stop_repeating();
  void abandon_unstored(RunId id);
  [[nodiscard]] bool may_fetch(Timestamp now) const noexcept;
  void given_back(const Outstanding& request, const std::vector<ProviderResult<void>>& answers, Timestamp now);
  void renewed(const Outstanding& request, const std::vector<ProviderResult<Timestamp>>& answers, Timestamp now);
  void beaten(const Outstanding& request, const std::vector<ProviderResult<Timestamp>>& answers, Timestamp now);
  void extended(RunId id, Run& run, const ProviderResult<Timestamp>& until, Timestamp now);
  void sessions_renewed(const ProviderResult<std::size_t>& count, Timestamp now);
  void gauges_read(const worker::Gauges& gauges) const;

  // With the incarnation of its instance if a commit of this node claimed it.
  void take_on(WorkItem item, Timestamp now, std::optional<std::uint64_t> claimed_for = std::nullopt);
  void begin(RunId id, const WorkItem& item, messages::ExecuteActivity activity, Timestamp now);
  void try_later(RunId id, Run& run, Timestamp now);
  void fail(RunId id, ErrorDetails error);
  // The activity was fetched too often.
  void poison(RunId id, std::string message);
  [[nodiscard]] std::optional<worker::Request> list_nodes();
  void nodes_listed(const std::vector<RunId>& runs, const std::vector<NodeInfo>& nodes);
  void complete_with(RunId id, MessageBody completion);
  // Under the lock that this item names.
  [[nodiscard]] bool is_running(const ClaimedWork& claimed) const;
  void offer_when_returned(Run& run, Timestamp now);
  void offer(RunId id, Run& run);
  void judged(const Verdict& verdict, Timestamp now);
  // Nothing will be offered.
  void offers_nothing(Run& run);
  void give_back_later(RunId id, Milliseconds delay, bool ignore_attempt);
  // The activity has not been started, and its schedule-to-start timeout decides how long that may last.
  [[nodiscard]] static bool awaits_start(const WorkItem& item) noexcept;
  [[nodiscard]] Milliseconds delay_until_next_try(const WorkItem& item, Milliseconds delay, Timestamp now) const;
  void give_back_unstarted(RunId id, const WorkItem& item, Milliseconds delay);
  [[nodiscard]] static bool wants_to_beat(const Run& run) noexcept;
  [[nodiscard]] static Identity identity_of(const Run& run);
  // Nobody waits for its outcome any more.
  void stop(RunId id, Run& run, Timestamp now);
  void give_grace(Run& run, Timestamp now);
  void unwant(Run& run);
  void started(RunId id, Timestamp now);
  void lose(RunId id, Run& run, Timestamp now);
  void settle(RunId id);
  void forget_if_over(RunId id);
  void sweep();
  void check_deadlines(Timestamp now);
  void time_out(RunId id, Run& run, const std::string& why, Timestamp now);
  [[nodiscard]] bool serves_sessions() const noexcept;
  // The store counts this, or something shortly before, as a use of the run's session.
  void use_session(const Run& run, Timestamp now);
  // Some session that this node used has been idle for its timeout. Forgets those.
  [[nodiscard]] bool has_idle_session(Timestamp now);
  // What still runs at the end may belong to a session, which is to stay here until then.
  [[nodiscard]] bool renews_sessions() const noexcept { return !draining_ || !runs_.empty(); }
  // A node without a name of its own cannot take its sessions up again, so it leaves them to the others.
  [[nodiscard]] bool gives_up_sessions() const noexcept { return draining_ && holds_sessions_ && !keeps_sessions_; }

  // Counting and logging: worker_reports.cpp
  void report_start(const Run& run, Timestamp scheduled_at, Timestamp now);
  void report(const Run& run, std::string_view outcome, Timestamp now, std::size_t result_bytes = 0);
  void report_stored(const Run& run);
  void report_timeout(const Run& run, std::string_view timeout);
  void report_unregistered(const Run& run, Milliseconds delay);
  void report_backoff(std::string_view message, const ProviderError& error, Milliseconds rest) const;
  [[nodiscard]] std::string_view name_label(const Run& run);
  void tell(LogLevel level, const Run& run, std::string_view message, std::initializer_list<LogField> more = {}) const;
  void warn(const Run& run, std::string_view message, std::string_view key, const std::string& value) const;

  // Options
  std::string owner_;
  WorkFetch fetch_;
  ActivityResolver resolve_;
  std::shared_ptr<WorkPlaces> places_;
  std::shared_ptr<StoreHealth> health_;
  std::size_t max_threads_;
  std::size_t max_async_;
  std::size_t max_payload_bytes_;
  std::size_t max_error_text_bytes_;
  std::uint32_t max_attempts_;
  UnregisteredBackoff backoff_;
  Milliseconds lock_timeout_;
  Milliseconds session_timeout_;
  Milliseconds session_idle_;
  Milliseconds session_cleanup_;
  Milliseconds gauge_interval_;
  Milliseconds heartbeat_interval_;
  Milliseconds grace_;
  Milliseconds long_poll_;
  bool keeps_sessions_;  // from one process to the next
  Logger logger_;
  Metrics metrics_;
  BoundedLabel names_;
  BoundedLabel tags_;

  WorkSearch search_;
  HeldWatch watch_;
  std::map<RunId, Run> runs_;
  std::map<Identity, RunId> by_identity_;   // runs whose outcome is wanted
  std::set<Identity> withdrawn_meanwhile_;  // while a fetch is under way, which may bring them
  std::deque<worker::Start> to_start_;
  std::vector<RunId> to_stop_;
  std::vector<RunId> to_name_nodes_;  // that end as poison without code
  std::vector<RunId> to_ack_;
  std::deque<RunId> to_ack_alone_;  // acknowledgements that the store did not accept
  std::multimap<Timestamp, RunId> to_ack_again_;
  std::vector<RunId> to_give_back_;
  std::multimap<Timestamp, RunId> to_give_back_again_;
  std::map<RequestId, Outstanding> outstanding_;
  NewsForTurns news_;

  RequestId last_request_ = 0;
  RunId last_run_ = 0;
  std::size_t threads_ = 0;  // occupied and not replaced
  std::size_t async_ = 0;    // runs that have returned, with the outcome still to come
  std::set<RunId> suspect_runs_;
  std::set<RunId> replaced_runs_;  // whose thread was replaced
  std::vector<RunId> over_;        // settled since the last sweep
  StoreGate gate_;                 // of acknowledgements
  bool may_fetch_ = true;          // as of the latest look
  bool acking_ = false;
  bool renewing_ = false;
  bool beating_ = false;
  bool keeping_up_ = false;
  bool repeating_stopped_ = false;
  bool draining_ = false;
  Timestamp check_at_ = Timestamp::max();          // no lease, deadline or grace period needs it earlier
  Timestamp sessions_at_ = Timestamp::max();       // the next renewal, while there are sessions
  bool holds_sessions_ = false;                    // possibly: some were claimed and not released
  std::map<std::string, Timestamp> session_uses_;  // the latest of each; without those of an earlier process
  Timestamp idle_at_ = Timestamp::max();           // no session of session_uses_ is idle earlier
  Timestamp cleanup_at_ = Timestamp::min();
  Timestamp gauges_at_ = Timestamp::min();
};

}  // namespace perdure::runtime
