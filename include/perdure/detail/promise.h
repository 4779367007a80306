// What the promises of Task and Orchestration share, and the one awaiter for everything durable.
//
// A "part" is anything an orchestration may await: Future, Task, join, select and their as_result() forms. It has
//   completion()         is it done, since when
//   peek(core)           since when it would be done if it were started now; no event if it would not
//   start(core)          begin, if it is lazy; may be called again
//   take()               its value, or throws; once it is done
//   acknowledge()        the value has reached the code; until then a queue message can still go back to its queue
//   drop()               give up on it (durably, if it owns operations)
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include <perdure/detail/completion.h>
#include <perdure/detail/context_core.h>

namespace perdure {

// What continue_as_new answers: `co_return` it, or `co_await` it, which never comes back.
class ContinueAsNew {};

namespace detail {

struct Durable {};

template <class A>
concept DurablePart = std::derived_from<std::remove_cvref_t<A>, Durable>;

struct PromiseBase {
  PromiseBase() = default;
  PromiseBase(const PromiseBase&) = delete;
  PromiseBase& operator=(const PromiseBase&) = delete;

  ContextCore* core = nullptr;  // null until started
  ReadyNode node;
  Completion completion;
  std::exception_ptr error;

  // Frames are counted so that a cache of instances can be bounded by bytes.
  static void* operator new(std::size_t size);
  static void operator delete(void* frame, std::size_t size) noexcept;

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

  struct Final {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <std::derived_from<PromiseBase> P>
    void await_suspend(std::coroutine_handle<P> handle) const noexcept {
      auto& promise = handle.promise();
      promise.completion.complete(promise.core->next_rank());
    }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }
  void rethrow_if_failed() {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
  void start(ContextCore& owner) noexcept {
    if (core) return;
    core = &owner;
    owner.ready().post(node);
  }

  // The awaiter is returned as a prvalue: g++ 12.2 copies what await_transform returns by reference.
  template <DurablePart A>
  auto await_transform(A&& part) noexcept;
  auto await_transform(ContinueAsNew) noexcept { return std::suspend_always{}; }
  template <class A>
    requires(!DurablePart<A>)
  auto await_transform(A&&) {
    static_assert(!sizeof(A*),
                  "an orchestration may only co_await what its OrchestrationContext returned, a perdure::Task, or "
                  "perdure::join and perdure::select of them (a named Task must be moved: co_await std::move(task)): "
                  "anything else is not in the history and cannot be replayed");
  }
};

// Resumes one coroutine when one part is done.
template <class Part>
class PartAwaiter final : private Waiter {
 public:
  PartAwaiter(Part& part, PromiseBase& promise) noexcept : part_(&part), promise_(&promise) {}

  // clang's analyzer does not see a coroutine's promise being constructed.
  // NOLINTBEGIN(clang-analyzer-core.*)
  [[nodiscard]] bool await_ready() {
    if (promise_->core->inert()) return false;
    part_->start(*promise_->core);
    return part_->completion().done();
  }
  void await_suspend(std::coroutine_handle<>) noexcept {
    if (!promise_->core->inert()) link_.arm(part_->completion(), *this);
  }
  // NOLINTEND(clang-analyzer-core.*)
  auto await_resume() {
    if constexpr (std::is_void_v<typename Part::value_type>) {
      part_->take();
      part_->acknowledge();
    } else {
      auto value = part_->take();
      part_->acknowledge();
      return value;
    }
  }

 private:
  void on_complete(WaitLink&) noexcept override { promise_->core->ready().post(promise_->node); }

  Part* part_;
  PromiseBase* promise_;
  WaitLink link_;
};

template <DurablePart A>
auto PromiseBase::await_transform(A&& part) noexcept {
  static_assert(std::is_lvalue_reference_v<A> ? std::remove_cvref_t<A>::kAwaitableAsLvalue : true,
                "a perdure::Task is awaited once: write co_await std::move(task)");
  return PartAwaiter<std::remove_reference_t<A>>(part, *this);
}

}  // namespace detail
}  // namespace perdure
