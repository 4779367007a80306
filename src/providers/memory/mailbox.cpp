#include "providers/memory/mailbox.h"

#include <algorithm>

#include "model/planted_fault.h"

namespace perdure::memory {

Mailbox::Order& Mailbox::order_of(const Message& message) {
  return begins_execution(message.record.kind) ? starts_ : others_;
}

void Mailbox::add(MessageId id, Message message) {
  order_of(message).emplace(message.visible_at, id);
  if (ends_instance(message.record.kind)) ends_.emplace(message.visible_at, id);
  if (message.record.parent) ++parents_[message.record.parent->instance];
  messages_.emplace(id, std::move(message));
}

std::optional<Message> Mailbox::remove(MessageId id) {
  auto node = messages_.extract(id);
  if (node.empty()) return std::nullopt;
  Message message = std::move(node.mapped());
  order_of(message).erase({message.visible_at, id});
  ends_.erase({message.visible_at, id});
  if (message.record.parent) {
    const auto parent = parents_.find(message.record.parent->instance);
    if (--parent->second == 0) parents_.erase(parent);
  }
  return message;
}

const Message* Mailbox::first_start() const {
  return starts_.empty() ? nullptr : &messages_.at(starts_.begin()->second);
}

const Message* Mailbox::first_of(MessageKind kind) const {
  for (const auto& [visible_at, id] : begins_execution(kind) ? starts_ : others_) {
    const Message& message = messages_.at(id);
    if (message.record.kind == kind) return &message;
  }
  return nullptr;
}

std::optional<Timestamp> Mailbox::first_visible_at() const {
  std::optional<Timestamp> first;
  for (const Order* order : {&starts_, &others_}) {
    if (order->empty()) continue;
    const Timestamp visible_at = order->begin()->first;
    first = std::min(first.value_or(visible_at), visible_at);
  }
  return first;
}

bool Mailbox::has_child_start(Timestamp now) const {
  return std::any_of(starts_.begin(), starts_.end(), [&](const auto& start) {
    const MessageRecord& record = messages_.at(start.second).record;
    return start.first <= now && record.kind == MessageKind::kStartOrchestration && record.parent;
  });
}

std::vector<QueuedMessage> Mailbox::load_end_requests(Timestamp now, const std::vector<QueuedMessage>& loaded) const {
  std::vector<QueuedMessage> found;
  for (const auto& [visible_at, id] : ends_) {
    if (visible_at > now || found.size() == 2) break;
    const MessageRecord& record = messages_.at(id).record;
    if (found.empty() || found.front().record.kind != record.kind) found.push_back({.id = id, .record = record});
  }
  std::erase_if(found, [&](const QueuedMessage& end) {
    return std::any_of(loaded.begin(), loaded.end(), [&](const QueuedMessage& each) { return each.id == end.id; });
  });
  return found;
}

std::vector<QueuedMessage> Mailbox::load(Timestamp now, std::size_t max_messages, std::size_t max_bytes) const {
  std::vector<QueuedMessage> loaded;
  std::size_t bytes = 0;
  for (const Order* order : {&starts_, &others_}) {
    for (const auto& [visible_at, id] : *order) {
      const Milliseconds early{planted(PlantedFault::kMessagesATickEarly) ? 10 : 0};
      if (visible_at > now + early) break;
      const MessageRecord& record = messages_.at(id).record;
      bytes += record.body.size();
      if (!loaded.empty() && (loaded.size() >= max_messages || bytes > max_bytes)) return loaded;
      loaded.push_back({.id = id, .record = record});
    }
  }
  if (planted(PlantedFault::kMessagesOutOfOrder)) {
    const auto others = std::find_if(loaded.begin(), loaded.end(),
                                     [](const QueuedMessage& each) { return !begins_execution(each.record.kind); });
    std::sort(others, loaded.end(), [](const auto& one, const auto& other) { return one.id < other.id; });
  }
  return loaded;
}

}  // namespace perdure::memory
