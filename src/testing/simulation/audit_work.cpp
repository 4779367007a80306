// The worker queue: activities and their locks.
#include "testing/simulation/audit.h"

namespace perdure::testing::simulation {

namespace {

std::string described(const Audit::ActivityKey& key) {
  return "activity " + std::to_string(std::get<2>(key)) + " of execution " + std::to_string(std::get<1>(key)) +
         " of '" + std::get<0>(key) + "'";
}

}  // namespace

Audit::Activity* Audit::worker_of(const LockToken& token, Timestamp now) {
  const auto known = activity_of_.find(token.value);
  if (known == activity_of_.end()) return nullptr;
  const auto activity = activities_.find(known->second);
  if (activity == activities_.end()) return nullptr;
  const auto& lock = activity->second.lock;
  return lock && lock->token == token.value && lock->until > now ? &activity->second : nullptr;
}

void Audit::lock_activity(const ActivityKey& key, Activity& activity, const LockToken& token, Timestamp until,
                          const WorkFetch& fetch, Timestamp now) {
  if (!activity_of_.emplace(token.value, key).second)
    problem("the token of " + described(key) + " was given out before");
  if (activity.lock) activity.taken_over = activity.lock->token;
  activity.lock =
      Lock{token.value, until, {}, fetch.session ? fetch.session->owner : std::string(), now, fetch.lock_timeout};
  moment(until);
}

void Audit::remove_activity(const ActivityKey& key) {
  activities_.erase(key);
}

void Audit::work_fetched(const WorkFetch& fetch, const WorkBatch& batch) {
  const Timestamp now = batch.now;
  for (const WorkItem& item : batch.items) {
    const ActivityKey key{item.record.instance, item.record.execution.value_or(kFirstExecutionId),
                          item.record.activity_id};
    const auto found = activities_.find(key);
    if (found == activities_.end()) {
      problem(described(key) + " was fetched although it was completed, withdrawn or never scheduled");
      continue;
    }
    Activity& activity = found->second;
    check_lapse(described(key), activity.lock, now);
    if (activity.lock && item.record.timeouts.schedule_to_start && !item.expired) fetched_in_vain_.insert(key);
    if (activity.lock && activity.lock->until > now) {
      problem(described(key) + " was locked again " + std::to_string((activity.lock->until - now).count()) +
              " ms before its lock ended");
    }
    if (item.expired && activity.has_begun)
      problem(described(key) + " has expired as not started although it has begun");
    if (!item.expired && !fetch.tags.matches(item.record.tag)) {
      problem(described(key) + " went to a worker that does not serve its tag");
    }
    if (activity.visible_at > now) {
      problem(described(key) + " was fetched " + std::to_string((activity.visible_at - now).count()) +
              " ms before it was visible");
    }
    if (item.heartbeat_details != activity.details) {
      problem(described(key) + " was fetched without the details of its last heartbeat");
    }
    if (item.record.session && !item.expired) claim_session(*item.record.session, fetch, now);
    if (item.attempt_count != ++activity.attempts) {
      problem(described(key) + " was fetched for the " + std::to_string(activity.attempts) +
              ". time, but the store counts " + std::to_string(item.attempt_count));
      activity.attempts = item.attempt_count;
    }
    lock_activity(key, activity, item.token, item.locked_until, fetch, now);
    if (fetch.session) moment(now + fetch.session->lock_timeout);
  }
  check_left_out(fetch, batch);
}

void Audit::claim(const TurnCommit& commit, const CommitAnswer& answer, Timestamp now) {
  const std::string& id = instance_of_.at(commit.token.value);
  for (const ClaimedActivity& claimed : answer.claimed) {
    const ActivityKey key{id, commit.execution_id, commit.activities.at(claimed.index).activity_id};
    const auto found = activities_.find(key);
    if (found == activities_.end()) {
      problem(described(key) + " was claimed although it was withdrawn");
      continue;
    }
    found->second.attempts = 1;
    const auto& session = found->second.record.session;
    if (session) claim_session(*session, *commit.claim, now);
    lock_activity(key, found->second, claimed.token, claimed.locked_until, *commit.claim, now);
    found->second.lock->claimed_by = commit.commit_id;
  }
}

void Audit::check_claims(const std::string& id, const TurnCommit& commit, const CommitAnswer& answer, Timestamp now) {
  auto listed = answer.claimed.begin();
  for (std::size_t index = 0; index < commit.activities.size(); ++index) {
    const ActivityKey key{id, commit.execution_id, commit.activities[index].activity_id};
    const bool is_listed = listed != answer.claimed.end() && listed->index == index;
    const auto found = activities_.find(key);
    const Lock* const lock = found != activities_.end() && found->second.lock ? &*found->second.lock : nullptr;
    const bool holds = lock && lock->until > now && lock->claimed_by == commit.commit_id;
    if (holds && !is_listed) problem("a commit that came again does not list " + described(key) + ", which it claimed");
    if (!is_listed) continue;
    if (!holds) {
      problem("a commit that came again lists " + described(key) + ", which it has not claimed or lost since");
    } else if (lock->token != listed->token.value || lock->until != listed->locked_until) {
      problem("a commit that came again lists " + described(key) + " with another lock than it has");
    }
    ++listed;
  }
  if (listed != answer.claimed.end()) problem("a commit of '" + id + "' that came again lists its claims out of order");
}

// The fast path: the turn takes the outcome itself.
void Audit::complete(const std::string& id, const LockToken& token, Timestamp now) {
  const Activity* const activity = worker_of(token, now);
  if (!activity) return problem("a commit of '" + id + "' completed an activity whose lock was lost");
  if (activity->attempts != 1) problem("a commit of '" + id + "' completed an activity that was fetched before");
  if (activity->record.instance != id) problem("a commit of '" + id + "' completed an activity of another instance");
  use_session(*activity, now);
  remove_activity(activity_of_.at(token.value));
}

void Audit::work_acked(const WorkAck& ack, const ProviderResult<void>& answer, Timestamp now) {
  const Activity* const activity = worker_of(ack.token, now);
  if (!answer) {
    if (activity && answer.error().kind() == ProviderErrorKind::kLockLost) {
      problem("the outcome of " + described(activity_of_.at(ack.token.value)) + " was refused although its lock held");
    }
    return;
  }
  if (!activity) return problem("the outcome of an activity was accepted under a lost lock");
  use_session(*activity, now);
  remove_activity(activity_of_.at(ack.token.value));
  if (ack.completion) enqueued(*ack.completion, now);
}

void Audit::note_begun(const ActivityKey& key, Activity& activity, const Abandon& abandon) {
  if (!abandon.has_begun) return;
  activity.has_begun = true;
  if (activity.record.timeouts.schedule_to_start) fetched_in_vain_.insert(key);
}

// A token that means nothing any more is no error.
void Audit::work_abandoned(const Abandon& abandon, const ProviderResult<void>& answer, Timestamp now) {
  if (!answer) return;
  const auto known = activity_of_.find(abandon.token.value);
  if (known == activity_of_.end()) return;
  const auto found = activities_.find(known->second);
  if (found == activities_.end()) return;
  Activity& activity = found->second;
  if (abandon.ignore_attempt && activity.taken_over == abandon.token.value) {
    activity.taken_over.clear();
    note_begun(known->second, activity, abandon);
    if (activity.attempts > 0) --activity.attempts;
    return;
  }
  if (!activity.lock || activity.lock->token != abandon.token.value) return;
  note_begun(known->second, activity, abandon);
  activity.lock.reset();
  activity.visible_at = now + abandon.delay;
  if (abandon.ignore_attempt && activity.attempts > 0) --activity.attempts;
  check_count(described(known->second), abandon);
  moment(now + abandon.delay);
}

void Audit::work_renewed(const LockToken& token, const ProviderResult<Timestamp>& until, Timestamp now) {
  if (!until) return;
  Activity* const activity = worker_of(token, now);
  if (!activity) return problem("the lock of an activity was renewed after it was lost");
  activity->lock->until = *until;
  use_session(*activity, now);
  moment(*until);
}

void Audit::beaten(const Heartbeat& heartbeat, const ProviderResult<Timestamp>& until, Timestamp now) {
  work_renewed(heartbeat.token, until, now);
  Activity* const activity = until ? worker_of(heartbeat.token, now) : nullptr;
  if (activity && heartbeat.details) activity->details = heartbeat.details;
}

}  // namespace perdure::testing::simulation
