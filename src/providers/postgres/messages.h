// Messages and activities as lists of arguments.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <perdure/fetch.h>
#include <perdure/records.h>
#include "providers/postgres/connection.h"
#include "providers/postgres/waker.h"

namespace perdure::postgres {

// For the orchestrator queue.
class MessageLists {
 public:
  void add(const MessageRecord& message);
  [[nodiscard]] bool empty() const noexcept { return targets_.empty(); }

  // The instances that get something, each once.
  [[nodiscard]] const List& instances() const noexcept { return instances_; }
  // Whom to wake.
  [[nodiscard]] const Topics& topics() const noexcept { return topics_; }
  // Appends the calls that write the messages and schedule their instances, which are locked.
  void append_calls(std::vector<Call>& calls, Milliseconds retention) const;
  [[nodiscard]] Call insertion() const;
  [[nodiscard]] Call scheduling(Milliseconds retention) const;

 private:
  std::unordered_map<std::string, std::size_t> places_;
  List instances_ = texts();
  std::vector<bool> ends_;  // whether an instance gets what ends it
  List targets_ = texts();
  List kinds_ = smallints();
  List executions_ = bigints();
  List names_ = texts();
  List visible_ = bigints();
  List bodies_ = byte_strings();
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
