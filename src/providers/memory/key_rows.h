// All key rows, with the orders in which fetches look for them. Nothing here scans all rows.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <perdure/types.h>
#include "providers/memory/key_row.h"

namespace perdure::memory {

class KeyRows {
 public:
  // Answers whether to go on.
  using Visitor = std::function<bool(const KeyRow&)>;

  explicit KeyRows(Milliseconds orphan_retention) : orphan_retention_(orphan_retention) {}

  [[nodiscard]] KeyRow* find(const std::string& id);
  [[nodiscard]] const KeyRow* find(const std::string& id) const;
  [[nodiscard]] KeyRow* find(Age age);
  // The row of this id; made if there is none.
  [[nodiscard]] KeyRow& obtain(const std::string& id);
  // Oldest first.
  [[nodiscard]] const std::map<Age, KeyRow>& rows() const noexcept { return rows_; }
  [[nodiscard]] Age last_age() const noexcept { return last_age_; }
  [[nodiscard]] const KeyRow& row(Age age) const { return rows_.at(age); }
  // By id.
  [[nodiscard]] const std::map<std::string, Age>& ages() const noexcept { return ages_; }

  // To be called after every change of a row's messages, lock, not-before or instance.
  void reindex(KeyRow& row);
  void erase(KeyRow& row);

  void set_parent(KeyRow& child, const ParentLink& parent);
  // Oldest first.
  [[nodiscard]] std::vector<const KeyRow*> children(const std::string& parent) const;

  // Rows with a start or a cancel that this instance has sent to a child, oldest first.
  [[nodiscard]] std::vector<KeyRow*> with_messages_of(const std::string& parent);
  [[nodiscard]] std::vector<const KeyRow*> with_messages_of(const std::string& parent) const;

  // Visits what is ready for a fetch by `owner`, the longest ready first, then by age.
  void visit_ready(Timestamp now, const std::string& owner, const Visitor& visit) const;
  // When the next row becomes ready by time alone; Timestamp::max(): none does.
  [[nodiscard]] Timestamp next_ready_after(Timestamp now, const std::string& owner) const;

  // An orphan from which something is to be dropped; null if there is none.
  [[nodiscard]] KeyRow* first_lapsed_orphan(Timestamp now);
  // A message of an orphan has reached its retention time.
  [[nodiscard]] bool is_lapsed(const Message& message, Timestamp now) const;

 private:
  using Order = std::set<std::pair<Timestamp, Age>>;

  [[nodiscard]] KeyRow::Places places_of(const KeyRow& row) const;
  void remove_from_places(const KeyRow& row);
  [[nodiscard]] const Order& kept_by(const std::string& owner) const;

  Milliseconds orphan_retention_;
  std::map<Age, KeyRow> rows_;
  std::map<std::string, Age> ages_;
  std::map<std::string, std::set<Age>> children_;             // by the parent's id, which need not exist
  std::map<std::string, std::set<Age>> messages_of_parents_;  // rows with messages from this parent
  Order ready_;                                               // for every owner
  std::map<std::string, Order> ready_for_keeper_;             // rows with a kept lock, by its owner
  Order orphans_;                                             // by the time when a message of theirs is discarded
  Age last_age_ = 0;
};

}  // namespace perdure::memory
