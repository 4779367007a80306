// Messages and activities as lists of arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/records.h>
#include "providers/discarded_messages.h"
#include "providers/postgres/connection.h"
#include "providers/postgres/waker.h"

namespace perdure::postgres {

// For the orchestrator queue.
class MessageLists {
 public:
  // `receiver_exists`: true if an earlier part of the transaction created the receiver; the store is not asked.
  void add(const MessageRecord& message, bool receiver_exists = false);
  [[nodiscard]] bool empty() const noexcept { return targets_.empty(); }

  // The instances that receive messages, each once. Instances whose rows are created if missing come first, in the
  // order in which messages create them.
  [[nodiscard]] List instances() const;
  // The receivers of messages with must_exist: the store checks whether they exist.
  [[nodiscard]] const List& checked_instances() const noexcept { return checked_instances_; }
  [[nodiscard]] bool checks(const std::string& instance) const { return checked_.contains(instance); }
  // Whom to wake.
  [[nodiscard]] const Topics& topics() const noexcept { return topics_; }
  // Appends the calls that write the messages and schedule their instances, which are locked.
  void append_calls(std::vector<Call>& calls, Milliseconds retention);
  // Reads from the answers to these calls which messages with must_exist the store discarded.
  [[nodiscard]] std::vector<DiscardedMessages> discarded(const std::vector<Rows>& answers) const;
  // Appends the call that deletes the rows of receivers that got no message. It belongs at the end of the transaction.
  void append_forgetting(std::vector<Call>& calls) const;

 private:
  [[nodiscard]] Call insertion() const;
  [[nodiscard]] Call scheduling(Milliseconds retention) const;

  struct Receiver {
    bool made = false;    // by a message without must_exist
    bool sought = false;  // by a message with must_exist
    bool ends = false;    // it receives a terminate, or a cancel without a link
  };
  [[nodiscard]] std::vector<std::string> receivers() const;

  std::unordered_map<std::string, Receiver> receivers_;
  std::vector<std::string> made_;
  std::vector<std::string> sought_;
  List targets_ = texts();
  List kinds_ = smallints();
  List executions_ = bigints();
  List names_ = texts();
  List visible_ = bigints();
  List bodies_ = byte_strings();
  List parents_ = texts();
  List links_ = texts();
  List must_exist_ = booleans();
  // Cancels with a link: their receivers, and the links.
  List cancelled_ = texts();
  List cancelled_parents_ = texts();
  List cancelled_links_ = texts();
  std::unordered_set<std::string> begun_;    // by a start in these lists
  std::unordered_set<std::string> checked_;  // by the store
  List checked_instances_ = texts();
  std::optional<std::size_t> checked_answer_;
  Topics topics_;
};

// How a tag is stored, and which of them a filter admits; nothing stands for all.
[[nodiscard]] std::string lane_of(const std::optional<std::string>& tag);
[[nodiscard]] std::optional<std::string> tag_of(std::string_view lane);
[[nodiscard]] std::optional<List> lanes_of(const TagFilter& filter);

// A number that the server can hold.
[[nodiscard]] std::int64_t bounded(std::size_t number) noexcept;
// To see whether there is more than a page.
[[nodiscard]] std::int64_t one_more_than(std::size_t limit) noexcept;

}  // namespace perdure::postgres
