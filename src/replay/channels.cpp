#include "replay/channels.h"

#include <algorithm>
#include <utility>

#include "model/planted_fault.h"

namespace perdure {

using detail::Slot;
using detail::SlotRef;

namespace {

template <class Slots>
void remove_slot(Slots& slots, const Slot& slot) noexcept {
  const auto found = std::find_if(slots.begin(), slots.end(), [&](const SlotRef& each) { return each.get() == &slot; });
  if (found != slots.end()) slots.erase(found);
}

}  // namespace

void EventWaits::add(const SlotRef& slot) {
  waits_[slot->name].push_back(slot);
}

void EventWaits::remove(const Slot& slot) noexcept {
  const auto found = waits_.find(slot.name);
  if (found == waits_.end()) return;
  remove_slot(found->second, slot);
  if (found->second.empty()) waits_.erase(found);
}

SlotRef EventWaits::take(const std::string& name) {
  const auto found = waits_.find(name);
  if (found == waits_.end()) return {};
  SlotRef slot = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) waits_.erase(found);
  return slot;
}

std::vector<EventId> EventWaits::open() const {
  std::vector<EventId> ids;
  for (const auto& [name, slots] : waits_) {
    for (const auto& slot : slots) ids.push_back(slot->schedule_id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

void MessageQueues::erase_if_empty(Queues::iterator queue) noexcept {
  if (queue->second.empty()) queues_.erase(queue);
}

MessageQueues::Delivery MessageQueues::match(Queue& queue) {
  if (queue.messages.empty() || queue.waiting.empty()) return {};
  SlotRef slot = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  if (planted(PlantedFault::kNewestMessageFirst))
    std::rotate(queue.messages.begin(), queue.messages.end() - 1, queue.messages.end());
  UnreadMessage message = std::move(queue.messages.front());
  queue.messages.pop_front();
  slot->payload = std::move(message.data);
  queue.held.push_back({slot, message.event});
  return {std::move(slot), message.event};
}

MessageQueues::Delivery MessageQueues::add_subscription(const SlotRef& slot) {
  Queue& queue = queues_[slot->name];
  queue.waiting.push_back(slot);
  return match(queue);
}

MessageQueues::Delivery MessageQueues::add_message(const std::string& queue_name, UnreadMessage message) {
  Queue& queue = queues_[queue_name];
  // A new message is the newest; only one that is given back belongs further to the front.
  const auto place = std::find_if(queue.messages.rbegin(), queue.messages.rend(),
                                  [&](const UnreadMessage& each) { return each.event < message.event; });
  queue.messages.insert(place.base(), std::move(message));
  return match(queue);
}

MessageQueues::Delivery MessageQueues::drop(Slot& slot) {
  const auto found = queues_.find(slot.name);
  if (found == queues_.end()) return {};
  Queue& queue = found->second;
  remove_slot(queue.waiting, slot);
  Delivery delivery;
  const auto held =
      std::find_if(queue.held.begin(), queue.held.end(), [&](const Held& each) { return each.slot.get() == &slot; });
  if (held != queue.held.end()) {
    const EventId event = held->event;
    queue.held.erase(held);
    if (planted(PlantedFault::kDroppedMessageLost)) return {};
    delivery = add_message(found->first, {event, std::exchange(slot.payload, std::nullopt)});
  }
  erase_if_empty(found);
  return delivery;
}

void MessageQueues::read(const Slot& slot) noexcept {
  const auto found = queues_.find(slot.name);
  if (found == queues_.end()) return;
  std::erase_if(found->second.held, [&](const Held& each) { return each.slot.get() == &slot; });
  erase_if_empty(found);
}

std::vector<EventId> MessageQueues::open() const {
  std::vector<EventId> ids;
  for (const auto& [name, queue] : queues_) {
    for (const auto& slot : queue.waiting) ids.push_back(slot->schedule_id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<CarriedMessage> MessageQueues::unread() const {
  std::vector<std::pair<EventId, CarriedMessage>> found;
  for (const auto& [name, queue] : queues_) {
    for (const auto& message : queue.messages) found.emplace_back(message.event, CarriedMessage{name, message.data});
    for (const auto& held : queue.held) found.emplace_back(held.event, CarriedMessage{name, held.slot->payload});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<CarriedMessage> carried;
  carried.reserve(found.size());
  for (auto& [event, message] : found) carried.push_back(std::move(message));
  return carried;
}

std::size_t MessageQueues::unread_count() const noexcept {
  std::size_t count = 0;
  for (const auto& [name, queue] : queues_) count += queue.messages.size() + queue.held.size();
  return count;
}

std::size_t MessageQueues::unread_bytes() const noexcept {
  const auto size = [](const Payload& data) { return data ? data->size() : 0; };
  std::size_t bytes = 0;
  for (const auto& [name, queue] : queues_) {
    bytes += name.size() * (queue.messages.size() + queue.held.size());
    for (const auto& message : queue.messages) bytes += size(message.data);
    for (const auto& held : queue.held) bytes += size(held.slot->payload);
  }
  return bytes;
}

std::size_t MessageQueues::memory_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const auto& [name, queue] : queues_) {
    bytes += sizeof(queue) + name.size();
    for (const auto& message : queue.messages) bytes += sizeof(message) + (message.data ? message.data->size() : 0);
  }
  return bytes;
}

}  // namespace perdure
