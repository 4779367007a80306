// Channels: external events and queue messages on their way to the futures that wait for them.
//
//   events  go to the first open wait of their name; without one they are lost (and remain in the history)
//   queues  keep messages in order of arrival until a future takes them; a future that is dropped unread gives its
//           message back, so that losing a race never loses a message
//
// A subscription counts from its emission to its drop, live and on replay alike.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include <perdure/detail/slot.h>
#include <perdure/event.h>
#include <perdure/types.h>

namespace perdure {

struct UnreadMessage {
  EventId event = 0;
  Payload data;
};

class EventWaits {
 public:
  void add(const detail::SlotRef& slot);
  void remove(const detail::Slot& slot) noexcept;
  // The wait that the event belongs to, taken out; null when nobody waits.
  [[nodiscard]] detail::SlotRef take(const std::string& name);
  // Ascending.
  [[nodiscard]] std::vector<EventId> open() const;

 private:
  std::map<std::string, std::deque<detail::SlotRef>> waits_;
};

class MessageQueues {
 public:
  // A slot and the message it now holds; no slot: nothing to deliver.
  struct Delivery {
    detail::SlotRef slot;
    EventId event = 0;
  };

  [[nodiscard]] Delivery add_subscription(const detail::SlotRef& slot);
  [[nodiscard]] Delivery add_message(const std::string& queue_name, UnreadMessage message);
  // A future that has not been read goes; its message, if it had one, passes to the next subscription.
  [[nodiscard]] Delivery drop(detail::Slot& slot);
  void read(const detail::Slot& slot) noexcept;

  // Ascending: subscriptions without a message.
  [[nodiscard]] std::vector<EventId> open() const;
  // What nobody has read, in order of arrival.
  [[nodiscard]] std::vector<CarriedMessage> unread() const;
  [[nodiscard]] std::size_t unread_count() const noexcept;
  // Names and data of those.
  [[nodiscard]] std::size_t unread_bytes() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  struct Held {
    detail::SlotRef slot;
    EventId event;
  };
  struct Queue {
    std::deque<UnreadMessage> messages;   // not yet given to a subscription
    std::deque<detail::SlotRef> waiting;  // subscriptions without a message
    std::vector<Held> held;               // given, not yet read
    [[nodiscard]] bool empty() const noexcept { return messages.empty() && waiting.empty() && held.empty(); }
  };
  using Queues = std::map<std::string, Queue>;

  static Delivery match(Queue& queue);
  void erase_if_empty(Queues::iterator queue) noexcept;

  Queues queues_;
};

}  // namespace perdure
