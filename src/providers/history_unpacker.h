// Events as they were packed into rows, one for each commit, back into a list; what does not fit together is damage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <perdure/fetch.h>

namespace perdure {

class HistoryUnpacker {
 public:
  // After 0 a history is read from its beginning. Otherwise the first row may begin before `after`.
  explicit HistoryUnpacker(EventId after) : after_(after), next_(after == 0 ? kFirstEventId : 0) {}

  // The next row, in order: its columns say what the packed events must be.
  void add(EventId first, std::uint64_t count, std::string_view data);

  // Only the events behind `after`. `last`: the id of the last event that is known to be stored.
  [[nodiscard]] StoredHistory finish(const std::string& instance, ExecutionId execution,
                                     std::optional<EventId> last) &&;

 private:
  EventId after_;
  EventId next_;  // 0: any
  EventId damaged_from_ = 0;
  bool damaged_ = false;
  StoredHistory history_;
};

}  // namespace perdure
