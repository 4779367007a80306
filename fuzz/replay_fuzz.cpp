// Feeds arbitrary histories and messages to replay. Nothing may crash, hang or contradict itself: what an instance
// writes behind a history that it accepted, a rebuilt instance must accept, too.
//
// The first byte chooses the orchestration (its low two bits) and how the history is given:
//   'a'..'d'  nothing but messages: the history is what the engine writes for them; 'e'..'h': the same for a child
//   'A'..'D'  events, three bytes each: kind, selectors, source; any kind above the last ends the history, and messages
//             follow; 'E'..'H': the same for a child
//   '0'..'3'  the text of a history (history_text.h) up to a byte 0, and messages behind it
// A message is three bytes as well. Its kind has the kind in the low four bits, the choice of a link in the next three,
// and a high bit that begins the next turn.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/perdure.h>
#include "model/history_text.h"
#include "replay/live_instance.h"
#include "replay_links.h"

namespace perdure {
namespace {

void require(bool condition, std::string_view what) {
  if (condition) return;
  std::cerr << what << '\n';
  std::abort();
}

// ---- the orchestrations -------------------------------------------------------------------------------------------

Orchestration<Raw> sequential(OrchestrationContext ctx) {
  const Raw a = co_await ctx.schedule_activity<Raw>("A", 1);
  ctx.set_custom_status("one done");
  const Raw b = co_await ctx.schedule_activity<Raw>("B", a, ActivityOptions().retry(RetryPolicy(2)));
  if (ctx.random() % 2 == 0) co_await ctx.schedule_timer(Milliseconds(10));
  co_return b;
}

Orchestration<std::string> select_loop(OrchestrationContext ctx) {
  std::string read;
  for (int i = 0; i < 8; ++i) {
    auto first = co_await select{ctx.dequeue_event<Raw>("queue"), ctx.schedule_timer(Milliseconds(10)),
                                 ctx.schedule_wait<Raw>("event")};
    if (first.index() == 1) break;
    if (first.index() == 2) co_return ctx.continue_as_new(1);
    read += std::get<0>(first).text();
    ctx.schedule_activity<void>("A", 1).detach();
  }
  co_return read.size() > 8 ? "much" : "little";
}

Task<int> one_of_many(OrchestrationContext ctx, int number) {
  const auto result = co_await ctx.schedule_activity<int>("A", number).as_result();
  co_return result ? *result : -1;
}

Orchestration<int> fan_out(OrchestrationContext ctx) {
  std::vector<Task<int>> tasks;
  tasks.reserve(3);
  for (int i = 0; i < 3; ++i) tasks.push_back(one_of_many(ctx, 1));
  const auto values = co_await ctx.join(std::move(tasks));
  int sum = 0;
  for (const int value : values) sum += value % 100;
  const Future<Raw> dropped = ctx.schedule_wait<Raw>("event");
  co_await ctx.schedule_activity<void>("B", 1);
  co_return sum;
}

Orchestration<std::string> children_and_keys(OrchestrationContext ctx) {
  ctx.set_kv_value("key", 1);
  auto child = ctx.schedule_sub_orchestration<Raw>("Child", 1);
  auto message = ctx.dequeue_event<Raw>("queue");
  auto first = co_await select{child.as_result(), message};
  ctx.set_kv_value("key", 2);
  if (first.index() == 1) {
    ctx.schedule_orchestration("Child", "another", 1);
    co_return ctx.get_kv_value<int>("key") == 2 ? "read" : "lost";
  }
  if (!std::get<0>(first)) {
    ctx.clear_kv_value("key");
    throw OrchestrationError(std::get<0>(first).error().to_string());
  }
  if (ctx.prune_kv_values_updated_before(ctx.utc_now()) == 0) ctx.clear_all_kv_values();
  const Raw last = co_await message;
  co_return ctx.new_guid() + std::to_string(last.text().size());
}

std::shared_ptr<const OrchestrationHandler> handler(std::size_t number) {
  static const std::array kHandlers = {detail::make_handler(sequential), detail::make_handler(select_loop),
                                       detail::make_handler(fan_out), detail::make_handler(children_and_keys)};
  return kHandlers.at(number % kHandlers.size());
}

// ---- bytes --------------------------------------------------------------------------------------------------------

class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::uint8_t next() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  std::string_view up_to_zero() {
    const std::size_t end = std::min(rest_.find('\0'), rest_.size());
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return text;
  }

 private:
  std::string_view rest_;
};

constexpr std::array<std::string_view, 8> kNames = {"A", "B", "event", "queue", "Child", "key", "another", ""};
constexpr std::array<std::string_view, 8> kPayloads = {"",          "1", "2", "\"x\"", "{", "\"read\"", "\"one done\"",
                                                       "\"little\""};

// Three bytes, from which every kind takes what it needs.
class Choice {
 public:
  Choice(std::uint8_t selectors, std::uint8_t source, unsigned link = 0)
      : selectors_(selectors), source_(source), link_(link) {}
  [[nodiscard]] std::string name() const { return std::string(kNames.at(selectors_ % 8U)); }
  [[nodiscard]] Payload payload() const {
    const auto& text = kPayloads.at((selectors_ >> 3U) % 8U);
    return text.empty() ? Payload() : Payload(text);
  }
  [[nodiscard]] std::string text() const { return payload().value_or(std::string()); }
  [[nodiscard]] bool new_turn() const { return (selectors_ & 0x40U) != 0; }
  [[nodiscard]] bool odd() const { return (selectors_ & 0x80U) != 0; }
  [[nodiscard]] std::uint64_t source() const { return source_; }
  [[nodiscard]] std::optional<ParentLink> link() const { return chosen_link(link_, source_); }
  [[nodiscard]] std::uint64_t incarnation() const { return chosen_incarnation(link_); }
  [[nodiscard]] CancelReason reason() const { return static_cast<CancelReason>((selectors_ >> 3U) % 5U); }
  [[nodiscard]] std::optional<std::uint32_t> attempts() const {
    return odd() ? std::optional(static_cast<std::uint32_t>(source_)) : std::nullopt;
  }
  [[nodiscard]] ErrorDetails error() const {
    if (source_ > 250) return InfrastructureError{"fuzz", text(), odd()};
    return ApplicationError{static_cast<ApplicationErrorKind>(selectors_ % 8U), text(), odd()};
  }

 private:
  std::uint8_t selectors_;
  std::uint8_t source_;
  unsigned link_;
};

EventBody event_body(std::uint8_t kind, const Choice& c) {
  switch (kind) {
    case 0:
      return events::OrchestrationStarted{"Fuzz",      SemanticVersion{1, 0, 0}, c.payload(), std::nullopt, {},
                                          std::nullopt};
    case 1:
      return events::OrchestrationCompleted{c.payload()};
    case 2:
      return events::OrchestrationFailed{c.error()};
    case 3:
      return events::OrchestrationContinuedAsNew{c.payload(), std::nullopt};
    case 4:
      return events::OrchestrationCancelRequested{c.text()};
    case 5:
      return events::ActivityScheduled{c.name(), c.payload(), std::nullopt, std::nullopt, {}};
    case 6:
      return events::ActivityCompleted{c.source(), c.payload()};
    case 7:
      return events::ActivityFailed{c.source(), c.error(), std::nullopt, c.attempts()};
    case 8:
      return events::ActivityCancelRequested{c.source(), c.reason()};
    case 9:
      return events::TimerCreated{Timestamp(Milliseconds(static_cast<std::int64_t>(c.source())))};
    case 10:
      return events::TimerFired{c.source(), Timestamp()};
    case 11:
      return events::ExternalSubscribed{c.name()};
    case 12:
      return events::ExternalEvent{c.name(), c.payload()};
    case 13:
      return events::ExternalSubscriptionCancelled{c.source(), c.reason()};
    case 14:
      return events::QueueSubscribed{c.name()};
    case 15:
      return events::QueueEventDelivered{c.name(), c.payload()};
    case 16:
      return events::QueueSubscriptionCancelled{c.source(), c.reason()};
    case 17:
      return events::SubOrchestrationScheduled{c.name(), "fuzz::sub::" + std::to_string(c.source()), c.payload(), {}};
    case 18:
      return events::SubOrchestrationCompleted{c.source(), c.payload()};
    case 19:
      return events::SubOrchestrationFailed{c.source(), c.error()};
    case 20:
      return events::SubOrchestrationCancelRequested{c.source(), c.reason()};
    case 21:
      return events::OrchestrationChained{c.name(), "another", c.payload(), {}};
    case 22:
      return events::CustomStatusUpdated{c.payload()};
    case 23:
      return events::KeyValueSet{c.name(), c.text()};
    case 24:
      return events::KeyValueCleared{c.name()};
    case 25:
      return events::KeyValuesCleared{};
    default:
      return events::ValueRecorded{static_cast<RecordedValueKind>(c.source() % 3), c.text()};
  }
}

std::vector<Event> read_events(Bytes& bytes, const std::optional<ParentLink>& parent) {
  std::vector<Event> events;
  TurnNumber turn = kFirstTurn;
  while (!bytes.empty()) {
    const std::uint8_t kind = bytes.next();
    if (kind >= std::variant_size_v<EventBody>) break;
    const std::uint8_t selectors = bytes.next();
    const Choice choice(selectors, bytes.next());
    if (choice.new_turn() && !events.empty()) ++turn;
    const EventId id = events.size() + kFirstEventId + (choice.odd() && choice.source() == 255 ? 1 : 0);
    EventBody body = event_body(kind, choice);
    if (auto* const started = std::get_if<events::OrchestrationStarted>(&body)) started->parent = parent;
    events.push_back({id, turn, Timestamp(Milliseconds(1'000 * static_cast<std::int64_t>(turn))),
                      SemanticVersion{0, 1, 0}, std::move(body)});
  }
  return events;
}

MessageBody message_body(std::uint8_t kind, const Choice& c) {
  switch (kind % 16U) {
    case 0:
      return messages::StartOrchestration{"Fuzz", std::nullopt, c.payload(), c.link()};
    case 1:
      return messages::ContinueAsNew{"Fuzz", std::nullopt, c.payload(), c.link(), {{c.name(), c.payload()}}, {}};
    case 2:
      return messages::ActivityFailed{c.source(), c.error(), std::nullopt, c.attempts()};
    case 3:
    case 4:
      return messages::TimerFired{c.source(), Timestamp()};
    case 5:
    case 6:
      return messages::ExternalRaised{c.name(), c.payload()};
    case 7:
    case 8:
      return messages::QueueMessage{c.name(), c.payload()};
    case 9:
      return messages::SubOrchestrationCompleted{c.source(), c.payload(), c.incarnation()};
    case 10:
      return messages::SubOrchestrationFailed{c.source(), c.error(), c.incarnation()};
    case 11:
      return messages::CancelInstance{c.text(), c.link()};
    case 12:
      return messages::TerminateInstance{c.text()};
    case 13:
      return messages::ExecuteActivity{c.source(), c.name(), c.payload(), {}, {}, {}, "Fuzz", {}};
    default:
      return messages::ActivityCompleted{c.source(), c.payload()};
  }
}

std::vector<Message> read_batch(Bytes& bytes) {
  std::vector<Message> batch;
  while (!bytes.empty()) {
    const std::uint8_t kind = bytes.next();
    const std::uint8_t selectors = bytes.next();
    const Choice choice(selectors, bytes.next(), (kind >> 4U) % 8U);
    const ExecutionId execution = choice.odd() && choice.source() % 16U == 15 ? 2 : 1;
    batch.push_back({"fuzz", execution, std::nullopt, message_body(kind, choice)});
    if (kind >= 128) break;
  }
  return batch;
}

// ---- the invariants -----------------------------------------------------------------------------------------------

class Fuzzed {
 public:
  Fuzzed(std::size_t orchestration, std::vector<Event> history)
      : handler_(handler(orchestration)), history_(std::move(history)) {
    live_ = rebuild();
    fits_ = !live_->failure();
  }

  void take_turn(std::vector<Message> batch) {
    TurnRequest request;
    request.now = Timestamp(Milliseconds(1'000'000 + 1'000 * static_cast<std::int64_t>(history_.size())));
    request.entropy = {history_.size(), 7};
    request.messages = std::move(batch);
    const bool was_over = live_->facts().terminal();
    const bool started = live_->facts().started();
    const EventId next = live_->facts().next_event_id();
    // Not every time, or a long input would cost the square of its length.
    ++turns_;
    const bool now_and_then = (turns_ & (turns_ - 1U)) == 0;
    const auto again = fits_ && now_and_then ? rebuild() : nullptr;
    const TurnOutcome outcome = live_->run_turn(request);
    for (std::size_t i = 0; i < outcome.events.size(); ++i) {
      require(outcome.events[i].id == next + i, "event ids are not contiguous");
    }
    if (was_over) {
      require(outcome.events.empty() && outcome.activities.empty(), "something after the end");
      const std::vector<ParentLink> refused = refused_parents(outcome.messages, std::nullopt);
      require(refused == would_be_parents(request.messages, std::nullopt), "a child that cannot start is not refused");
      require(outcome.messages.size() == refused.size(), "a message after the end");
      return;
    }
    if (live_->facts().started()) check_links(request.messages, outcome);
    if (!fits_ && started) {
      require(outcome.status == ExecutionStatus::kFailed && live_->facts().terminal(), "a misfit goes on");
      return;
    }
    if (again) {
      // Messages with another link have no effect: a turn without them is the same turn.
      std::erase_if(request.messages, [&](const Message& each) { return is_foreign(each, live_->facts().parent()); });
      const TurnOutcome same = again->run_turn(request);
      require(same.events == outcome.events && same.messages == outcome.messages && same.status == outcome.status,
              "a rebuilt instance that does not receive the messages of others differs");
    }
    history_.insert(history_.end(), outcome.events.begin(), outcome.events.end());
  }
  // What it wrote behind a history that fits fits as well.
  void check() const {
    if (fits_) require(!rebuild()->failure(), "an instance does not accept its own history");
  }

 private:
  // A message with another link is reported as such, and a start with another link is refused, whatever else the turn
  // does. A cancel from the parent counts.
  void check_links(const std::vector<Message>& batch, const TurnOutcome& outcome) const {
    const std::optional<ParentLink>& own = live_->facts().parent();
    std::ptrdiff_t foreign = 0;
    for (const Message& message : batch) {
      if (is_foreign(message, own)) {
        ++foreign;
      } else if (std::holds_alternative<messages::CancelInstance>(message.body)) {
        require(live_->facts().cancel_requested().has_value(), "a cancel has no effect");
      }
    }
    const auto reported = std::count_if(outcome.ignored.begin(), outcome.ignored.end(), [](const IgnoredMessage& each) {
      return each.reason == IgnoreReason::kForeignLink;
    });
    require(foreign == reported, "not the messages with another link are reported as such");
    require(refused_parents(outcome.messages, own) == would_be_parents(batch, own),
            "not the starts with another link are refused");
  }
  [[nodiscard]] std::unique_ptr<LiveInstance> rebuild() const {
    Limits limits;
    limits.max_actions_per_turn = 1'000;
    auto rebuilt = std::make_unique<LiveInstance>(
        ExecutionIdentity{"fuzz", kFirstExecutionId, SemanticVersion{1, 0, 0}, kIncarnation}, handler_,
        KeyValueSnapshot{}, limits);
    rebuilt->replay(history_);
    return rebuilt;
  }

  std::shared_ptr<const OrchestrationHandler> handler_;
  std::vector<Event> history_;
  std::unique_ptr<LiveInstance> live_;
  bool fits_ = false;
  unsigned turns_ = 0;
};

void try_input(std::string_view input) {
  Bytes bytes(input);
  const std::uint8_t first = bytes.next();
  const std::size_t orchestration = first < 'A' ? first & 3U : (first - 1U) & 3U;
  std::vector<Event> history;
  const bool only_messages = first >= 'a';
  const bool is_child = ((first - 1U) & 4U) != 0;
  const std::optional<ParentLink> parent = is_child ? std::optional(own_link()) : std::nullopt;
  if (!only_messages) history = first >= 'A' ? read_events(bytes, parent) : read_history_text(bytes.up_to_zero());
  Fuzzed fuzzed(orchestration, std::move(history));
  if (only_messages) {
    fuzzed.take_turn({{"fuzz", std::nullopt, std::nullopt, messages::StartOrchestration{"Fuzz", {}, {}, parent}}});
  }
  constexpr int kMostTurns = 40;
  for (int turn = 0; turn < kMostTurns && !bytes.empty(); ++turn) fuzzed.take_turn(read_batch(bytes));
  fuzzed.take_turn({{"fuzz", std::nullopt, std::nullopt, messages::ExternalRaised{"event", std::nullopt}}});
  fuzzed.check();
}

}  // namespace
}  // namespace perdure

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    perdure::try_input({reinterpret_cast<const char*>(data), size});
  } catch (const perdure::DecodeError&) {
    return 0;  // most texts are no histories; anything else that is thrown ends the program
  }
  return 0;
}
