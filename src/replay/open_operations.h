// OpenOperations: slots by schedule id. Ids arrive in ascending order and leave in any; both are amortised O(1) plus a
// binary search, and an instance with one open operation pays for one entry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <perdure/detail/slot.h>
#include <perdure/types.h>

namespace perdure {

class OpenOperations {
 public:
  void add(EventId id, detail::SlotRef slot) { entries_.push_back({id, std::move(slot)}); }

  // Takes the slot out; null when there is none of that id.
  detail::SlotRef take(EventId id) {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), id,
                                        [](const Entry& entry, EventId wanted) { return entry.id < wanted; });
    if (found == entries_.end() || found->id != id) return {};
    detail::SlotRef slot = std::exchange(found->slot, {});
    if (slot) {
      ++holes_;
      compact();
    }
    return slot;
  }

  // Null when there is none of that id.
  [[nodiscard]] detail::Slot* find(EventId id) const {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), id,
                                        [](const Entry& entry, EventId wanted) { return entry.id < wanted; });
    return found == entries_.end() || found->id != id ? nullptr : found->slot.get();
  }

  template <class Function>
  void for_each(Function&& function) const {
    for (const auto& entry : entries_) {
      if (entry.slot) function(*entry.slot);
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size() - holes_; }

 private:
  struct Entry {
    EventId id;
    detail::SlotRef slot;
  };

  void compact() {
    if (holes_ * 2 <= entries_.size()) return;
    std::erase_if(entries_, [](const Entry& entry) { return !entry.slot; });
    holes_ = 0;
  }

  std::vector<Entry> entries_;
  std::size_t holes_ = 0;
};

}  // namespace perdure
