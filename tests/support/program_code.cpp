// Starting operations and seeing values on behalf of a random program.
#include "support/program_code.h"

#include <array>

namespace perdure::test {

// ---- notes --------------------------------------------------------------------------------------------------------

Note::Note(Observations& seen, const Source& source, EventId schedule_id)
    : seen_(&seen), source_(source), id_(schedule_id) {
  if (source_.kind == SourceKind::kQueue) first_in_line_ = seen_->queue_futures.at(source_.name)++ == 0;
}

Note& Note::operator=(Note&& other) noexcept {
  if (this == &other) return *this;
  let_go();
  seen_ = std::exchange(other.seen_, nullptr);
  source_ = other.source_;
  id_ = other.id_;
  first_in_line_ = other.first_in_line_;
  obtained_ = other.obtained_;
  lost_ = std::move(other.lost_);
  return *this;
}

void Note::let_go() noexcept {
  if (seen_ && source_.kind == SourceKind::kQueue) --seen_->queue_futures.at(source_.name);
  seen_ = nullptr;
}

// A queue's future that has been read holds no message any more, and so is none to the queue.
void Note::obtained(const std::string& value) {
  if (std::exchange(obtained_, true)) return;
  for (const std::size_t selection : lost_) seen_->selections.at(selection).losers.push_back(value);
  if (source_.kind == SourceKind::kEvent) seen_->events.emplace(id_, value);
  if (source_.kind != SourceKind::kQueue) return;
  seen_->reads.push_back({source_.name, value, first_in_line_});
  let_go();
}

EventId Note::source_id() const noexcept {
  return source_.kind == SourceKind::kActivity || source_.kind == SourceKind::kChild ? id_ : 0;
}

void Operations::add(Operation operation) {
  futures.push_back(std::move(operation.future));
  notes.push_back(std::move(operation.note));
}

std::vector<EventId> Operations::source_ids() const {
  std::vector<EventId> ids;
  for (const Note& note : notes) ids.push_back(note.source_id());
  return ids;
}

void Operations::drop(std::size_t index) {
  futures.erase(futures.begin() + static_cast<std::ptrdiff_t>(index));
  notes.erase(notes.begin() + static_cast<std::ptrdiff_t>(index));
}

void Operations::detach(std::size_t index) {
  std::move(futures[index]).detach();
  notes[index].detached();
  drop(index);
}

// ---- values -------------------------------------------------------------------------------------------------------

void Code::see(std::string_view value) {
  for (const char each : value) hash_ = (hash_ ^ static_cast<unsigned char>(each)) * 0x100000001b3ULL;
  hash_ = (hash_ ^ 0xffU) * 0x100000001b3ULL;
  hash_ ^= hash_ >> 29U;
  seen_->hashes.push_back(hash_);
  if (ended_) seen_->went_on_after_its_end = true;
}

void Code::see_result(const Result<std::string>& result) {
  see(result ? *result : "failure: " + result.error().to_string());
}

void Code::see(Note& note, const std::string& value) {
  note.obtained(value);
  see(value);
}

void Code::see(Note& note, const Result<std::string>& result) {
  if (result) note.obtained(*result);
  see_result(result);
}

void Code::joined(const Operations& parts) {
  for (const Note& note : parts.notes) {
    if (note.source_id() != 0) seen_->joined.push_back(note.source_id());
  }
}

void Code::selected(std::vector<EventId> parts, std::size_t winner, const std::string& value) {
  seen_->selections.push_back({std::move(parts), winner, value, {}});
  see(winner);
}

std::string Code::text() const {
  constexpr std::array<char, 17> kDigits{"0123456789abcdef"};
  std::string digits(16, '0');
  for (std::size_t i = 0; i < 16; ++i) digits[15 - i] = kDigits[(hash_ >> (4 * i)) & 0xfU];
  return digits;
}

// ---- operations ---------------------------------------------------------------------------------------------------

namespace {

RetryPolicy policy_of(std::uint32_t options) {
  RetryPolicy policy(1 + options % 3);
  policy.backoff((options & 4U) != 0   ? Backoff::none()
                 : (options & 8U) != 0 ? Backoff::fixed(Milliseconds(50))
                                       : Backoff::exponential(Milliseconds(10), 2.0, Milliseconds(100)));
  if ((options & 16U) != 0) policy.total_timeout(Milliseconds(5'000));
  return policy;
}

}  // namespace

Operation Code::start(const Source& source) {
  const std::string name = std::to_string(source.name);
  const auto with_note = [&](Future<std::string> future) {
    const EventId id = future.schedule_id();
    return Operation(std::move(future), Note(*seen_, source, id));
  };
  switch (source.kind) {
    case SourceKind::kActivity: {
      ActivityOptions options;
      if ((source.options & 1U) != 0) options.session("session" + name);
      if ((source.options & 2U) != 0) options.tag("tag" + name);
      if ((source.options & 4U) != 0) options.timeout(Milliseconds(700));
      return with_note(ctx_.schedule_activity<std::string>("Activity" + name, text(), options));
    }
    case SourceKind::kRetriedActivity:
      return with_note(ctx_.schedule_activity<std::string>("Retried" + name, text(),
                                                           ActivityOptions().retry(policy_of(source.options))));
    case SourceKind::kChild: {
      SubOrchestrationOptions options;
      if ((source.options & 1U) != 0) options.instance_id("child-" + text());
      if ((source.options & 2U) != 0) options.version("1.2.3");
      return with_note(ctx_.schedule_sub_orchestration<std::string>("Child" + name, text(), options));
    }
    case SourceKind::kEvent:
      return with_note(ctx_.schedule_wait<std::string>(event_name(source.name)));
    case SourceKind::kQueue:
      break;
  }
  return with_note(ctx_.dequeue_event<std::string>(queue_name(source.name)));
}

Operations Code::start(const std::vector<Source>& sources) {
  Operations operations;
  for (const Source& source : sources) operations.add(start(source));
  return operations;
}

// ---- plain calls --------------------------------------------------------------------------------------------------

bool Code::call(const Step& step) {
  switch (step.kind) {
    case StepKind::kStartDetached:
      ctx_.schedule_orchestration("Detached", "detached-" + text(), text());
      return true;
    case StepKind::kThrow:
      throw OrchestrationError("thrown by the program after " + text());
    case StepKind::kPanic:
      throw 42;
    default:
      return call_for_keys(step) || call_for_values(step);
  }
}

bool Code::call_for_keys(const Step& step) {
  const std::string key = "key" + std::to_string(step.number % 4);
  switch (step.kind) {
    case StepKind::kSetKey:
      ctx_.set_kv_value(key, text());
      return true;
    case StepKind::kSeeKeys:
      for (const auto& [each, value] : ctx_.get_kv_all_values()) see(each + "=" + value);
      see(ctx_.get_kv_value<std::string>(key).value_or("no such key"));
      see(ctx_.get_kv_length());
      return true;
    case StepKind::kClearKey:
      ctx_.clear_kv_value(key);
      return true;
    case StepKind::kClearKeys:
      ctx_.clear_all_kv_values();
      return true;
    case StepKind::kPruneKeys:
      see(ctx_.prune_kv_values_updated_before(ctx_.utc_now() - Milliseconds(5 * step.number)));
      return true;
    default:
      return false;
  }
}

bool Code::call_for_values(const Step& step) {
  switch (step.kind) {
    case StepKind::kSetStatus:
      ctx_.set_custom_status(text());
      return true;
    case StepKind::kResetStatus:
      ctx_.reset_custom_status();
      return true;
    case StepKind::kSeeStatus:
      see(ctx_.get_custom_status().value_or("no status"));
      return true;
    case StepKind::kGuid:
      see(ctx_.new_guid());
      return true;
    case StepKind::kNow:
      see(static_cast<std::uint64_t>(ctx_.utc_now().time_since_epoch().count()));
      return true;
    case StepKind::kRandom:
      see(ctx_.random());
      return true;
    case StepKind::kSeeItself:
      see(ctx_.instance_id() + ctx_.orchestration_name() + ctx_.orchestration_version().to_string());
      see(ctx_.execution_id());
      return true;
    default:
      return false;
  }
}

}  // namespace perdure::test
