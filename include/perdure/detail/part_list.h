// The counting halves of join and select: AllOf and AnyOf, over parts that somebody else stores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <perdure/detail/completion.h>
#include <perdure/detail/context_core.h>

namespace perdure::detail {

template <class Part>
using part_value = typename std::remove_reference_t<Part>::value_type;
template <class Part>
using value_or_monostate = std::conditional_t<std::is_void_v<part_value<Part>>, std::monostate, part_value<Part>>;

template <class Part>
value_or_monostate<Part> take_value(Part& part) {
  if constexpr (std::is_void_v<part_value<Part>>) {
    part.take();
    return {};
  } else {
    return part.take();
  }
}

// `Declared` is a reference for a borrowed part, which is left alone.
template <class Declared, class Part>
void drop_owned(Part& part) noexcept {
  if constexpr (!std::is_lvalue_reference_v<Declared>) part.drop();
}

template <class Tuple, class Function>
void for_each_part(Tuple& parts, Function&& function) {
  std::apply([&](auto&... part) { (function(part), ...); }, parts);
}

// Of parts that are all done: since when all are. No event while one is not.
class LatestRank {
 public:
  void add(Rank part) noexcept {
    pending_ = pending_ || part.event == 0;
    latest_ = (std::max)(latest_, part);  // in parentheses: a macro of that name
  }
  [[nodiscard]] Rank rank() const noexcept { return pending_ ? Rank() : latest_; }

 private:
  bool pending_ = false;
  Rank latest_;
};

// Of parts of which some are done: since when the first is. No event while none is.
class EarliestRank {
 public:
  // Whether the part is the earliest so far.
  bool add(Rank part) noexcept {
    if (part.event == 0 || (earliest_.event != 0 && earliest_ <= part)) return false;
    earliest_ = part;
    return true;
  }
  [[nodiscard]] Rank rank() const noexcept { return earliest_; }

 private:
  Rank earliest_;
};

// A combinator may be moved until it starts (into another one, say); from then on its links point at it.
class PartList : protected Waiter {
 public:
  PartList() = default;
  // Not noexcept: it throws when there are links already.
  PartList(PartList&& other) { check_not_started(other); }  // NOLINT(*-move-constructor,*-exception-escape)
  PartList& operator=(PartList&&) = delete;

  // Throws MisuseError if it has begun, and so cannot be moved any more.
  void check_movable() const { check_not_started(*this); }
  [[nodiscard]] Completion& completion() noexcept { return completion_; }
  // False when it has already begun.
  bool begin(ContextCore& core, std::size_t size);
  // Waits no longer.
  void disarm() noexcept;

 protected:
  ~PartList() = default;
  // Throws MisuseError.
  static void check_not_started(const PartList& other);

  ContextCore* core_ = nullptr;
  std::unique_ptr<WaitLink[]> links_;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
  Completion completion_;
};

class AllOf final : public PartList {
 public:
  template <class Part>
  void add(Part& part) {
    part.start(*core_);
    add_completion(part.completion());
  }
  // All parts are known: it may be over at once.
  void armed() noexcept;

 private:
  void add_completion(Completion& part) noexcept;
  void on_complete(WaitLink& link) noexcept override;

  std::size_t remaining_ = 0;
  LatestRank done_;
};

class AnyOf final : public PartList {
 public:
  // First a look at all parts: of those that are done the earliest event wins, and no other is started.
  template <class Part>
  void look(Part& part) {
    if (earliest_.add(part.peek(*core_))) winner_ = next_;
    ++next_;
  }
  void looked() noexcept { next_ = 0; }
  // Then start them, or only the winner, and wait.
  template <class Part>
  void add(Part& part) {
    const std::size_t index = next_++;
    if (decided() && index != winner_) return;
    part.start(*core_);
    if (decided()) return;
    if (earliest_.add(part.completion().rank())) {
      winner_ = index;  // it completed inside start(): a join of nothing
    } else {
      links_[index].arm(part.completion(), *this);
    }
  }
  // All parts are known: it may be over at once.
  void armed() noexcept;
  [[nodiscard]] std::size_t winner() const noexcept { return winner_; }

 private:
  [[nodiscard]] bool decided() const noexcept { return earliest_.rank().event != 0; }
  void on_complete(WaitLink& link) noexcept override;

  std::size_t winner_ = 0;
  EarliestRank earliest_;
};

}  // namespace perdure::detail
