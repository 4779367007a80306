#include "providers/postgres/commit_pipeline.h"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "providers/commit_rules.h"
#include "providers/event_packing.h"
#include "providers/parent_links.h"
#include "providers/postgres/sql.h"
#include "providers/postgres/versions.h"
#include "providers/record_bytes.h"

namespace perdure::postgres {

namespace {

// A filter for claims, but for how many.
bool same_claim(const WorkFetch& one, const WorkFetch& other) {
  WorkFetch copy = one;
  copy.limit = other.limit;
  return copy == other;
}

// Whether a worker would see a new activity at once.
bool is_visible(const MessageRecord& activity) {
  return !activity.visible_at;
}

}  // namespace

bool is_sound(const TurnCommit& commit) {
  const std::string none;
  const std::string& instance = commit.activities.empty() ? none : commit.activities.front().instance;
  // As the row would be if everything that only the store knows were right.
  const TurnTarget target{.id = instance,
                          .is_instance = true,
                          .execution = commit.execution_id,
                          .last_event = commit.events.empty() ? 0 : commit.events.front().event_id - 1};
  if (!commit.events.empty() && commit.events.front().event_id == 0) return false;
  if (check_turn(commit, target)) return false;
  std::set<EventId> ids;
  return std::all_of(commit.activities.begin(), commit.activities.end(),
                     [&ids](const MessageRecord& activity) { return ids.insert(activity.activity_id).second; }) &&
         std::all_of(commit.completed_work.begin(), commit.completed_work.end(),
                     [](const LockToken& token) { return read_token(token, 'a').has_value(); });
}

ClaimedActivity claimed_activity(const TurnCommit& commit, std::int64_t row, EventId id, Timestamp locked_until) {
  const auto activity = std::find_if(commit.activities.begin(), commit.activities.end(),
                                     [id](const MessageRecord& candidate) { return candidate.activity_id == id; });
  return {.index = static_cast<std::size_t>(activity - commit.activities.begin()),
          .token = make_token({.queue = 'a', .row = row, .secret = claim_secret(commit.commit_id)}),
          .locked_until = locked_until};
}

bool must_be_alone(const TurnCommit& commit) {
  return !commit.cancelled_activities.empty() ||
         std::any_of(commit.activities.begin(), commit.activities.end(),
                     [](const MessageRecord& activity) { return activity.session || activity.visible_at; });
}

bool CommitPipeline::claims(const TurnCommit& commit) const {
  return commit.claim && !commit.claim->tags.takes_nothing() && claim_limit(*commit.claim) > 0 &&
         !commit.activities.empty();
}

bool CommitPipeline::fits(const TurnCommit& commit, const InstanceLock& lock) const {
  if (turns_.empty()) return true;
  if (bytes_ + bytes_of(commit) > kMaxBatchBytes) return false;
  if (instances_.contains(lock.instance) || must_be_alone(commit) || must_be_alone(*turns_.front())) return false;
  // An earlier turn sends it a message only if it exists, and this turn may consume the start that makes it exist.
  if (messages_.checks(lock.instance)) return false;
  // A turn before would be told of messages that it does not know of yet.
  const auto is_known = [this](const MessageRecord& message) { return instances_.contains(message.instance); };
  if (std::any_of(commit.messages.begin(), commit.messages.end(), is_known)) return false;
  return !claims(commit) || claim_ == nullptr || same_claim(*claim_, *commit.claim);
}

void CommitPipeline::add(const TurnCommit& commit, const InstanceLock& lock) {
  const std::int64_t key = lock.key;
  turns_.push_back(&commit);
  bytes_ += bytes_of(commit);
  row_keys_.push_back(key);
  instances_.insert(lock.instance);
  const StartedMetadata* const started = commit.started ? &*commit.started : nullptr;
  const bool keeps = commit.keep_lock && !ends_execution(commit);

  turn_.keys.add(key);
  turn_.secrets.add(lock.secret);
  turn_.ids.add(commit.commit_id);
  turn_.executions.add(commit.execution_id);
  turn_.first_events.add(commit.events.empty() ? EventId{0} : commit.events.front().event_id);
  turn_.last_events.add(commit.events.empty() ? EventId{0} : commit.events.back().event_id);
  turn_.may_be_first.add(started != nullptr || !changes_instance(commit));
  if (commit.activities.empty()) {
    turn_.schedulers.add_null();
  } else {
    turn_.schedulers.add(commit.activities.front().instance);
  }
  turn_.keep.add(keeps ? commit.keep_lock : std::nullopt);
  turn_.owners.add(keeps ? std::optional(commit.owner) : std::nullopt);
  turn_.statuses.add(commit.status ? std::optional(static_cast<std::int64_t>(commit.status->status)) : std::nullopt);
  turn_.started.add(started != nullptr);
  turn_.names.add(started != nullptr ? std::optional(started->name) : std::nullopt);
  turn_.versions.add(started != nullptr ? sortable(started->version) : std::nullopt);
  const StoredLink link = started != nullptr ? stored_link(started->parent) : StoredLink();
  turn_.parents.add(link.parent);
  turn_.links.add(link.rest);
  turn_.pins.add(started != nullptr ? sortable(started->pinned_version) : std::nullopt);
  turn_.carried.add(started != nullptr ? started->carry_forward : std::uint64_t{0});
  // Only the store knows whether this is the next execution; it cannot be if its events are not the first.
  const bool may_be_next = commit.execution_id > kFirstExecutionId &&
                           (commit.events.empty() || commit.events.front().event_id == kFirstEventId);
  begins_execution_ = begins_execution_ || started != nullptr || may_be_next;
  is_simple_ =
      is_simple_ && started == nullptr && !may_be_next && !commit.status && commit.cancelled_activities.empty();
  if (started != nullptr || commit.status || commit.custom_status || !commit.key_values.empty() ||
      !commit.consumed.empty()) {
    changed_groups_ |= change_group(lock.instance);
  }
  if (started == nullptr) maybe_empty_.add(key);

  for (auto token = commit.completed_work.begin(); token != commit.completed_work.end(); ++token) {
    if (std::find(commit.completed_work.begin(), token, *token) != token) continue;
    const LockName work = read_token(*token, 'a').value();
    done_.ids.add(work.row);
    done_.secrets.add(work.secret);
    done_.keys.add(key);
  }
  for (const MessageId id : commit.consumed) {
    consumed_.ids.add(id);
    consumed_.keys.add(key);
  }
  add_events(commit, key);
  add_values(commit, key);
  add_activities(commit, key);
  // The row of an instance that begins with this turn is marked as an instance only at the end.
  for (const MessageRecord& message : commit.messages) {
    messages_.add(message, started != nullptr && message.instance == lock.instance);
  }
}

void CommitPipeline::add_events(const TurnCommit& commit, std::int64_t key) {
  if (!commit.events.empty()) {
    std::uint64_t body_bytes = 0;
    for (const EventRecord& event : commit.events) body_bytes += event.body.size();
    history_.keys.add(key);
    history_.executions.add(commit.execution_id);
    history_.first.add(commit.events.front().event_id);
    history_.counts.add(std::uint64_t{commit.events.size()});
    history_.bytes.add(body_bytes);
    history_.data.add(pack_events(commit.events));
  }
  if (commit.status) {
    ended_.keys.add(key);
    ended_.executions.add(commit.execution_id);
    ended_.statuses.add(static_cast<std::int64_t>(commit.status->status));
    ended_.outputs.add(commit.status->output);
    if (ends_execution(commit)) ended_for_good_.add(key);
  }
}

// Only what is left of the mutations in the end: one statement changes a value once.
void CommitPipeline::add_values(const TurnCommit& commit, std::int64_t key) {
  if (commit.custom_status) {
    custom_.keys.add(key);
    custom_.values.add(commit.custom_status->value);
  }
  std::map<std::string_view, const SetKeyValue*> left;  // nothing: cleared
  bool cleared = false;
  for (const KeyValueMutation& mutation : commit.key_values) {
    if (const auto* set = std::get_if<SetKeyValue>(&mutation)) {
      left[set->key] = set;
    } else if (const auto* clear = std::get_if<ClearKeyValue>(&mutation)) {
      left[clear->key] = nullptr;
    } else {
      cleared = true;
      left.clear();
    }
  }
  if (cleared) cleared_.add(key);
  for (const auto& [name, set] : left) {
    values_.keys.add(key);
    values_.names.add(name);
    values_.values.add(set != nullptr ? std::optional(set->value) : std::nullopt);
    values_.times.add(set != nullptr ? std::optional(set->updated_at) : std::nullopt);
  }
}

void CommitPipeline::add_activities(const TurnCommit& commit, std::int64_t key) {
  for (const EventId id : commit.cancelled_activities) {
    cancelled_.keys.add(key);
    cancelled_.executions.add(commit.execution_id);
    cancelled_.ids.add(id);
  }
  // Somebody who takes turns one by one would see what the turns before this one have left.
  const bool claims_some = claims(commit) && !leaves_work_;
  if (claims(commit)) claim_ = &*commit.claim;
  std::size_t room = claims_some ? claim_limit(*commit.claim) : 0;
  const bool alone = must_be_alone(commit);
  if (claims_some && alone) claim_limit_ = bounded(room);
  for (const MessageRecord& activity : commit.activities) {
    if (withdraws(commit, activity)) {
      absent_.keys.add(key);
      absent_.executions.add(commit.execution_id);
      absent_.ids.add(activity.activity_id);
      continue;
    }
    // The time of a visible activity is the store's to compare: then the store counts as well.
    const Timestamp now = activity.visible_at.value_or(Timestamp());
    const bool claimable = room > 0 && is_claimable(*commit.claim, activity, now);
    if (claimable && !alone) --room;
    claims_any_ = claims_any_ || claimable;
    leaves_work_ = leaves_work_ || (!claimable && is_visible(activity));
    work_.keys.add(key);
    work_.executions.add(commit.execution_id);
    work_.ids.add(activity.activity_id);
    work_.names.add(activity.name);
    work_.lanes.add(lane_of(activity.tag));
    work_.sessions.add(activity.session);
    work_.visible.add(activity.visible_at);
    work_.start_to_close.add(activity.timeouts.start_to_close);
    work_.schedule_to_start.add(activity.timeouts.schedule_to_start);
    work_.heartbeat.add(activity.timeouts.heartbeat);
    work_.bodies.add(activity.body);
    work_.claimable.add(claimable);
    work_.secrets.add(claim_secret(commit.commit_id));
  }
}

void CommitPipeline::append_execution_calls(std::vector<Call>& calls) const {
  if (begins_execution_) {
    calls.push_back(
        {sql::kBeginExecutions, Parameters(turn_.keys, turn_.executions, turn_.started, turn_.pins, turn_.carried)});
  }
  if (!history_.keys.empty()) {
    calls.push_back({sql::kInsertHistory, Parameters(history_.keys, history_.executions, history_.first,
                                                     history_.counts, history_.bytes, history_.data)});
  }
  if (!custom_.keys.empty()) calls.push_back({sql::kChangeCustomStatuses, Parameters(custom_.keys, custom_.values)});
  if (!cleared_.empty()) calls.push_back({sql::kClearValues, Parameters(cleared_)});
  if (!values_.keys.empty()) {
    calls.push_back({sql::kChangeValues, Parameters(values_.keys, values_.names, values_.values, values_.times)});
  }
  if (!ended_.keys.empty()) {
    calls.push_back({sql::kEndExecutions, Parameters(ended_.keys, ended_.executions, ended_.statuses, ended_.outputs)});
  }
  if (!ended_for_good_.empty()) calls.push_back({sql::kKeepValues, Parameters(ended_for_good_)});
}

// Withdrawing comes before queueing here, because what is both is not queued at all; that it is not there already is
// checked before that.
void CommitPipeline::append_activity_calls(std::vector<Call>& calls) {
  if (!absent_.keys.empty()) {
    calls.push_back({sql::kRefuseQueued, Parameters(absent_.keys, absent_.executions, absent_.ids)});
  }
  if (!cancelled_.keys.empty()) {
    cancelled_answer_ = calls.size();
    calls.push_back({sql::kCancelActivities, Parameters(cancelled_.keys, cancelled_.executions, cancelled_.ids)});
  }
  if (work_.keys.empty()) return;
  if (!claims_any_) {
    calls.push_back({sql::kQueueActivities, Parameters(work_.keys, work_.executions, work_.ids, work_.names,
                                                       work_.lanes, work_.sessions, work_.visible, work_.start_to_close,
                                                       work_.schedule_to_start, work_.heartbeat, work_.bodies)});
    return;
  }
  const WorkFetch& claim = *claim_;
  std::optional<std::string> owner;
  std::optional<Milliseconds> session_timeout;
  std::optional<std::int64_t> max_sessions;
  if (claim.session) {
    owner = claim.session->owner;
    session_timeout = claim.session->lock_timeout;
    max_sessions = bounded(claim.session->max_sessions);
  }
  claimed_answer_ = calls.size();
  if (!claim_limit_) {
    calls.push_back(
        {sql::kClaimActivities,
         Parameters(work_.keys, work_.executions, work_.ids, work_.names, work_.lanes, work_.sessions, work_.visible,
                    work_.start_to_close, work_.schedule_to_start, work_.heartbeat, work_.bodies, work_.claimable,
                    work_.secrets, lanes_of(claim.tags), texts(claim.filter.activities), owner, max_sessions,
                    std::int64_t{claim.suspects.from_attempts}, claim.suspects.admit, claim.lock_timeout)});
    return;
  }
  calls.push_back({sql::kInsertActivities,
                   Parameters(work_.keys, work_.executions, work_.ids, work_.names, work_.lanes, work_.sessions,
                              work_.visible, work_.start_to_close, work_.schedule_to_start, work_.heartbeat,
                              work_.bodies, work_.claimable, work_.secrets, claim_limit_, lanes_of(claim.tags),
                              texts(claim.filter.activities), owner, session_timeout, max_sessions,
                              std::int64_t{claim.suspects.from_attempts}, claim.suspects.admit, claim.lock_timeout)});
}

std::vector<Call> CommitPipeline::calls() {
  std::vector<Call> calls;
  if (!messages_.empty()) calls.push_back({sql::kLockOrMake, Parameters(messages_.instances(), turn_.keys)});
  if (!is_simple_) {
    calls.push_back({sql::kCheckTurns, Parameters(turn_.keys, turn_.secrets, turn_.ids, turn_.executions,
                                                  turn_.first_events, turn_.may_be_first, turn_.schedulers)});
  }
  if (!done_.ids.empty()) calls.push_back({sql::kFinishWork, Parameters(done_.ids, done_.secrets, done_.keys)});
  if (!consumed_.ids.empty()) calls.push_back({sql::kConsumeMessages, Parameters(consumed_.ids, consumed_.keys)});
  append_execution_calls(calls);
  append_activity_calls(calls);
  // Other instances are scheduled first: a turn's own is whatever the turn makes of it.
  if (!messages_.empty()) messages_.append_calls(calls, retention_);
  turn_answer_ = calls.size();
  if (is_simple_) {
    calls.push_back(
        {sql::kAdvanceTurns, Parameters(turn_.keys, turn_.secrets, turn_.ids, turn_.executions, turn_.first_events,
                                        turn_.last_events, turn_.schedulers, turn_.keep, turn_.owners)});
    messages_.append_forgetting(calls);
    return calls;
  }
  calls.push_back({sql::kUpdateTurns, Parameters(turn_.keys, turn_.ids, turn_.executions, turn_.last_events, turn_.keep,
                                                 turn_.owners, turn_.statuses, turn_.started, turn_.names,
                                                 turn_.versions, turn_.parents, turn_.pins, retention_, turn_.links)});
  if (!maybe_empty_.empty() && history_.keys.size() < turns_.size()) {
    forgotten_answer_ = calls.size();
    calls.push_back({sql::kForgetEmpty, Parameters(maybe_empty_)});
  }
  messages_.append_forgetting(calls);
  return calls;
}

// Lists in one row, or a row for each.
std::vector<CommitPipeline::TurnRow> CommitPipeline::turn_rows(const Rows& answer) const {
  std::vector<TurnRow> turns;
  turns.reserve(turns_.size());
  if (!is_simple_) {
    for (int row = 0; row < answer.size(); ++row) {
      turns.push_back({.key = answer.integer(row, 0),
                       .locked_until = answer.optional_time(row, 1),
                       .more_messages = answer.boolean(row, 2),
                       .sooner = answer.boolean(row, 4),
                       .now = answer.time(row, 3)});
    }
    return turns;
  }
  const std::vector<std::int64_t> keys = answer.integers(0, 0);
  const auto locked_until = answer.list(0, 1);
  const std::vector<std::int64_t> more_messages = answer.integers(0, 2);
  const std::vector<std::int64_t> sooner = answer.integers(0, 4);
  for (std::size_t place = 0; place < keys.size(); ++place) {
    std::optional<Timestamp> until;
    if (locked_until[place]) until = Timestamp(Milliseconds(as_integer(*locked_until[place])));
    turns.push_back({.key = keys[place],
                     .locked_until = until,
                     .more_messages = more_messages[place] != 0,
                     .sooner = sooner[place] != 0,
                     .now = answer.time(0, 3)});
  }
  return turns;
}

std::vector<CommitAnswer> CommitPipeline::read(const std::vector<Rows>& answers) const {
  std::map<std::int64_t, std::size_t> places;
  for (std::size_t place = 0; place < row_keys_.size(); ++place) places[row_keys_[place]] = place;
  std::vector<CommitAnswer> commits(turns_.size());
  for (const TurnRow& turn : turn_rows(answers[turn_answer_])) {
    CommitAnswer& answer = commits[places.at(turn.key)];
    answer.locked_until = turn.locked_until;
    answer.more_messages = turn.more_messages;
    answer.now = turn.now;
  }
  if (forgotten_answer_) {
    for (const std::int64_t key : answers[*forgotten_answer_].integers(0, 0)) {
      commits[places.at(key)].locked_until.reset();
    }
  }
  if (!claimed_answer_) return commits;
  const Rows& claimed = answers[*claimed_answer_];
  for (int row = 0; row < claimed.size(); ++row) {
    if (!claimed.boolean(row, 4)) continue;
    const std::size_t place = places.at(claimed.integer(row, 1));
    commits[place].claimed.push_back(claimed_activity(*turns_[place], claimed.integer(row, 0),
                                                      claimed.unsigned_integer(row, 2), claimed.time(row, 3)));
  }
  for (CommitAnswer& answer : commits) {
    std::sort(answer.claimed.begin(), answer.claimed.end(),
              [](const ClaimedActivity& one, const ClaimedActivity& other) { return one.index < other.index; });
  }
  return commits;
}

Topics CommitPipeline::topics(const std::vector<Rows>& answers) const {
  Topics topics = messages_.topics();
  topics.groups |= changed_groups_;
  if (cancelled_answer_ && !answers[*cancelled_answer_].empty()) topics.groups |= kWithdrawals;
  topics.activities = !work_.keys.empty() && !claimed_answer_;
  if (claimed_answer_) {
    const Rows& queued = answers[*claimed_answer_];
    for (int row = 0; row < queued.size(); ++row) topics.activities = topics.activities || !queued.boolean(row, 4);
  }
  for (const TurnRow& turn : turn_rows(answers[turn_answer_])) {
    topics.instances = topics.instances || turn.sooner;
  }
  return topics;
}

}  // namespace perdure::postgres
