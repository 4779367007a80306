// The queued messages of one key row, in the order in which they are delivered.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/records.h>
#include <perdure/types.h>

namespace perdure::memory {

struct Message {
  MessageRecord record;  // as it was given, with visible_at set
  Timestamp visible_at{};
};

// "Start" means here every message that begins an execution, continue-as-new too.
class Mailbox {
 public:
  void add(MessageId id, Message message);
  // Answers what was removed, if anything.
  std::optional<Message> remove(MessageId id);

  [[nodiscard]] bool empty() const noexcept { return messages_.empty(); }
  // By position, which is also by age.
  [[nodiscard]] const std::map<MessageId, Message>& messages() const noexcept { return messages_; }

  // The parents that have sent starts and cancels of children here, each with their number.
  [[nodiscard]] const std::map<std::string, std::size_t>& parents() const noexcept { return parents_; }

  // The start that is delivered first, visible or not.
  [[nodiscard]] const Message* first_start() const;
  // The message of this kind that is delivered first, visible or not; null if there is none.
  [[nodiscard]] const Message* first_of(MessageKind kind) const;
  // The smallest visible_at of all.
  [[nodiscard]] std::optional<Timestamp> first_visible_at() const;
  // Whether a start with a link to a parent is visible.
  [[nodiscard]] bool has_child_start(Timestamp now) const;
  // What is visible: starts, then the others, each by (visible_at, position). At least one, then within both limits.
  [[nodiscard]] std::vector<QueuedMessage> load(Timestamp now, std::size_t max_messages, std::size_t max_bytes) const;
  // The first visible cancel and the first visible terminate, without those that are loaded.
  [[nodiscard]] std::vector<QueuedMessage> load_end_requests(Timestamp now,
                                                             const std::vector<QueuedMessage>& loaded) const;

 private:
  using Order = std::set<std::pair<Timestamp, MessageId>>;  // (visible_at, position)

  [[nodiscard]] Order& order_of(const Message& message);

  std::map<MessageId, Message> messages_;
  Order starts_;
  Order others_;
  Order ends_;  // of the others: cancels and terminates
  std::map<std::string, std::size_t> parents_;
};

}  // namespace perdure::memory
