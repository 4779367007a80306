// perdure::join{a, b, ...} and perdure::select{a, b, ...} over futures, tasks and each other.
//
// They are classes made with braces because only braces fix the order in which their elements are evaluated, and the
// order of scheduling is history. Temporaries are owned and, in a select, dropped when they lose; named futures and
// tasks are borrowed and stay as they are. For many: ctx.join(vector), ctx.select(vector).
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <perdure/detail/part_list.h>
#include <perdure/detail/promise.h>
#include <perdure/result.h>
#include <perdure/task.h>

namespace perdure {

template <class... Parts>
class join;

// `co_await join{...}.as_result()`: each outcome as a Result, nothing is thrown.
template <class Join>
class [[nodiscard]] JoinResults : public detail::Durable {
 public:
  using value_type = typename Join::results_type;
  static constexpr bool kAwaitableAsLvalue = true;

  explicit JoinResults(Join&& all) : join_(std::move(all)) {}
  detail::Completion& completion() noexcept { return join_.completion(); }
  detail::Rank peek(detail::ContextCore& core) { return join_.peek(core); }
  void start(detail::ContextCore& core) { join_.start(core); }
  value_type take() { return join_.take_results(); }
  void acknowledge() noexcept { join_.acknowledge(); }
  void drop() noexcept { join_.drop(); }

 private:
  Join join_;
};

// Waits for all; then gives their values, or throws the first failure by position. Nothing is cancelled on a failure.
//   auto both = co_await perdure::join{ctx.schedule_activity<int>("A"), helper(ctx)};   // std::tuple<int, ...>
template <class... Parts>
class [[nodiscard]] join : public detail::Durable {
 public:
  using value_type = std::tuple<detail::value_or_monostate<Parts>...>;
  using results_type = std::tuple<Result<detail::part_value<Parts>>...>;
  static constexpr bool kAwaitableAsLvalue = true;

  explicit(false) join(Parts&&... parts) : parts_(std::forward<Parts>(parts)...) {}  // NOLINT(google-explicit-*)

  // Throws MisuseError if it was awaited before.
  JoinResults<join> as_result() && {
    all_.check_movable();  // before its parts move
    return JoinResults<join>(std::move(*this));
  }

  detail::Completion& completion() noexcept { return all_.completion(); }
  detail::Rank peek(detail::ContextCore& core) {
    detail::LatestRank latest;
    detail::for_each_part(parts_, [&](auto& part) { latest.add(part.peek(core)); });
    return latest.rank();
  }
  void start(detail::ContextCore& core) {
    if (!all_.begin(core, sizeof...(Parts))) return;
    detail::for_each_part(parts_, [&](auto& part) { all_.add(part); });
    all_.armed();
  }
  value_type take() {
    // Braces: left to right, so the first failure by position is the one thrown.
    return std::apply([](auto&... part) { return value_type{detail::take_value(part)...}; }, parts_);
  }
  results_type take_results() {
    return std::apply([](auto&... part) { return results_type{part.take_result()...}; }, parts_);
  }
  Result<value_type> take_result() {
    return detail::result_of<value_type>([this] { return take(); });
  }
  void acknowledge() noexcept {
    detail::for_each_part(parts_, [](auto& part) { part.acknowledge(); });
  }
  void drop() noexcept {
    all_.disarm();
    std::apply([](auto&... part) { (detail::drop_owned<Parts>(part), ...); }, parts_);
  }

 private:
  std::tuple<Parts...> parts_;
  detail::AllOf all_;
};
template <class... Parts>
join(Parts&&...) -> join<Parts...>;

template <class Part>
class [[nodiscard]] JoinMany : public detail::Durable {
 public:
  using value_type = std::vector<detail::value_or_monostate<Part>>;
  using results_type = std::vector<Result<detail::part_value<Part>>>;
  static constexpr bool kAwaitableAsLvalue = true;

  explicit JoinMany(std::vector<Part> parts) : parts_(std::move(parts)) {}

  // Throws MisuseError if it was awaited before.
  JoinResults<JoinMany> as_result() && {
    all_.check_movable();  // before its parts move
    return JoinResults<JoinMany>(std::move(*this));
  }

  detail::Completion& completion() noexcept { return all_.completion(); }
  detail::Rank peek(detail::ContextCore& core) {
    detail::LatestRank latest;
    for (auto& part : parts_) latest.add(part.peek(core));
    return latest.rank();
  }
  void start(detail::ContextCore& core) {
    if (!all_.begin(core, parts_.size())) return;
    for (auto& part : parts_) all_.add(part);
    all_.armed();
  }
  value_type take() {
    value_type values;
    values.reserve(parts_.size());
    for (auto& part : parts_) values.push_back(detail::take_value(part));
    return values;
  }
  results_type take_results() {
    results_type results;
    results.reserve(parts_.size());
    for (auto& part : parts_) results.push_back(part.take_result());
    return results;
  }
  Result<value_type> take_result() {
    return detail::result_of<value_type>([this] { return take(); });
  }
  void acknowledge() noexcept {
    for (auto& part : parts_) part.acknowledge();
  }
  void drop() noexcept {
    all_.disarm();
    parts_.clear();
  }

 private:
  std::vector<Part> parts_;
  detail::AllOf all_;
};

// Waits for the first, in the order of history. The value is a variant whose index tells which; std::monostate stands
// for void. If the winner failed, that is thrown; put `.as_result()` on a part to have it as a value.
//   auto first = co_await perdure::select{ctx.schedule_wait<Approval>("approved"), ctx.schedule_timer(24h)};
template <class... Parts>
class [[nodiscard]] select : public detail::Durable {
 public:
  using value_type = std::variant<detail::value_or_monostate<Parts>...>;
  static constexpr bool kAwaitableAsLvalue = true;
  static_assert(sizeof...(Parts) > 0, "select of nothing would wait forever");

  explicit(false) select(Parts&&... parts) : parts_(std::forward<Parts>(parts)...) {}  // NOLINT(google-explicit-*)

  detail::Completion& completion() noexcept { return any_.completion(); }
  detail::Rank peek(detail::ContextCore& core) {
    detail::EarliestRank earliest;
    detail::for_each_part(parts_, [&](auto& part) { earliest.add(part.peek(core)); });
    return earliest.rank();
  }
  void start(detail::ContextCore& core) {
    if (!any_.begin(core, sizeof...(Parts))) return;
    detail::for_each_part(parts_, [&](auto& part) { any_.look(part); });
    any_.looked();
    detail::for_each_part(parts_, [&](auto& part) { any_.add(part); });
    any_.armed();
  }
  value_type take() { return take_winner(std::index_sequence_for<Parts...>{}); }
  Result<value_type> take_result() {
    return detail::result_of<value_type>([this] { return take(); });
  }
  void acknowledge() noexcept {
    std::size_t index = 0;
    detail::for_each_part(parts_, [&](auto& part) {
      if (index++ == any_.winner()) part.acknowledge();
    });
  }
  void drop() noexcept {
    any_.disarm();
    std::apply([](auto&... part) { (detail::drop_owned<Parts>(part), ...); }, parts_);
  }

 private:
  template <std::size_t... I>
  value_type take_winner(std::index_sequence<I...>) {
    // The losers go before the winner's continuation runs on.
    any_.disarm();
    ((I == any_.winner() ? void() : detail::drop_owned<Parts>(std::get<I>(parts_))), ...);
    std::optional<value_type> value;
    ((I == any_.winner() ? void(value.emplace(std::in_place_index<I>, detail::take_value(std::get<I>(parts_))))
                         : void()),
     ...);
    return std::move(*value);
  }

  std::tuple<Parts...> parts_;
  detail::AnyOf any_;
};
template <class... Parts>
select(Parts&&...) -> select<Parts...>;

// Which of many was first, and its value.
template <class T>
class Selected {
 public:
  Selected(std::size_t index, T value) : index_(index), value_(std::move(value)) {}
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] T& value() & noexcept { return value_; }
  [[nodiscard]] const T& value() const& noexcept { return value_; }
  [[nodiscard]] T value() && { return std::move(value_); }

 private:
  std::size_t index_;
  T value_;
};

// Parts is std::vector<Part> (owned: losers are dropped) or std::vector<Part>& (borrowed: they stay pending).
template <class Parts>
class [[nodiscard]] SelectMany : public detail::Durable {
  using Part = typename std::remove_reference_t<Parts>::value_type;

 public:
  using value_type = Selected<detail::value_or_monostate<Part>>;
  static constexpr bool kAwaitableAsLvalue = true;

  explicit SelectMany(Parts&& parts) : parts_(std::forward<Parts>(parts)) {}

  detail::Completion& completion() noexcept { return any_.completion(); }
  detail::Rank peek(detail::ContextCore& core) {
    detail::EarliestRank earliest;
    for (auto& part : parts_) earliest.add(part.peek(core));
    return earliest.rank();
  }
  void start(detail::ContextCore& core) {
    if (!any_.begin(core, parts_.size())) return;
    for (auto& part : parts_) any_.look(part);
    any_.looked();
    for (auto& part : parts_) any_.add(part);
    any_.armed();
  }
  Result<value_type> take_result() {
    return detail::result_of<value_type>([this] { return take(); });
  }
  value_type take() {
    any_.disarm();
    const std::size_t winner = any_.winner();
    if constexpr (!std::is_reference_v<Parts>) {
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (i != winner) parts_[i].drop();
      }
    }
    return {winner, detail::take_value(parts_[winner])};
  }
  void acknowledge() noexcept { parts_[any_.winner()].acknowledge(); }
  void drop() noexcept {
    any_.disarm();
    if constexpr (!std::is_reference_v<Parts>) parts_.clear();
  }

 private:
  Parts parts_;
  detail::AnyOf any_;
};

}  // namespace perdure
