// ActivityHandler: an activity's function with its types hidden, as a worker runs it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <perdure/activity_context.h>
#include <perdure/codec.h>
#include <perdure/detail/thrown.h>
#include <perdure/orchestration_handler.h>
#include <perdure/types.h>

namespace perdure {

// Runs one attempt and sees to it that the call ends: when the function returns, or later if it is asynchronous. Throws
// nothing; only a forced unwind passes, after the call was abandoned.
using ActivityHandler = std::function<void(const std::shared_ptr<detail::ActivityCall>&, const Payload& input)>;

namespace detail {

template <class T>
inline constexpr bool is_activity_completion = false;
template <class T>
inline constexpr bool is_activity_completion<ActivityCompletion<T>> = true;

// What a thrown exception means for the call. Called inside a catch block.
[[nodiscard]] ApplicationError activity_error_from_current_exception() noexcept;
[[nodiscard]] ApplicationError undecodable_activity_input(const std::string& activity, const std::string& error);

template <class Parameter>
decltype(auto) as_context_argument(ActivityContext& context) {
  if constexpr (std::is_lvalue_reference_v<Parameter>) {
    return static_cast<Parameter>(context);
  } else {
    return ActivityContext(context);
  }
}

template <class Function, class Invoke>
void run_activity(const std::shared_ptr<ActivityCall>& call, const Payload& input, Invoke invoke) {
  using Input = std::remove_cvref_t<std::tuple_element_t<1, typename signature_of<Function>::arguments>>;
  std::unique_ptr<Input> decoded;  // not an optional: g++ 12 sees uninitialised use where there is none
  try {
    decoded = contain([&] { return std::make_unique<Input>(decode_payload<Input>(input)); },
                      [&](const std::string& error) {
                        call->end(undecodable_activity_input(call->about.activity_name, error));
                        return std::unique_ptr<Input>();
                      });
  } catch (ForcedUnwind&) {
    call->abandon();
    throw;
  }
  if (decoded) invoke(std::move(*decoded));
}

// R f(ActivityContext& [, Input])
template <class F>
ActivityHandler make_activity_handler(F function) {
  using Signature = signature_of<std::decay_t<F>>;
  using Arguments = typename Signature::arguments;
  using Output = typename Signature::result;
  constexpr std::size_t kCount = std::tuple_size_v<Arguments>;
  static_assert(kCount == 1 || kCount == 2,
                "a registered activity takes (ActivityContext&) or (ActivityContext&, Input)");
  static_assert(std::is_same_v<std::remove_cvref_t<std::tuple_element_t<0, Arguments>>, ActivityContext>,
                "the first parameter of a registered activity is perdure::ActivityContext&");
  static_assert(!is_orchestration<Output>, "this is an orchestration: register it with add_orchestration");
  auto shared = std::make_shared<F>(std::move(function));  // a handler is copied; what the user captured need not be
  return [shared](const std::shared_ptr<ActivityCall>& call, const Payload& input) {
    const auto finish = [&](auto&& invoke) {
      try {
        if constexpr (std::is_void_v<Output>) {
          invoke();
          call->end(Payload());
        } else {
          call->end(encode_payload<Output>(invoke()));
        }
      } catch (ForcedUnwind&) {
        call->abandon();
        throw;
      } catch (...) {
        call->end(activity_error_from_current_exception());
      }
    };
    ActivityContext context(call);
    using First = std::tuple_element_t<0, Arguments>;
    if constexpr (kCount == 1) {
      finish([&]() -> Output { return (*shared)(as_context_argument<First>(context)); });
    } else {
      run_activity<std::decay_t<F>>(call, input, [&](auto&& value) {
        finish([&]() -> Output {
          return (*shared)(as_context_argument<First>(context), std::forward<decltype(value)>(value));
        });
      });
    }
  };
}

// void f(ActivityContext, [Input,] ActivityCompletion<T>)
template <class F>
ActivityHandler make_async_activity_handler(F function) {
  using Signature = signature_of<std::decay_t<F>>;
  using Arguments = typename Signature::arguments;
  constexpr std::size_t kCount = std::tuple_size_v<Arguments>;
  static_assert(kCount == 2 || kCount == 3,
                "an asynchronous activity takes (ActivityContext, ActivityCompletion<T>) or (ActivityContext, Input, "
                "ActivityCompletion<T>)");
  static_assert(std::is_same_v<std::tuple_element_t<0, Arguments>, ActivityContext>,
                "the first parameter of an asynchronous activity is perdure::ActivityContext, by value");
  using Handle = std::tuple_element_t<kCount - 1, Arguments>;
  static_assert(is_activity_completion<Handle>,
                "the last parameter of an asynchronous activity is perdure::ActivityCompletion<T>, by value");
  auto shared = std::make_shared<F>(std::move(function));
  return [shared](const std::shared_ptr<ActivityCall>& call, const Payload& input) {
    const Handle handle(call);  // outlives what is thrown: a dropped handle would end the call with an error of its own
    const auto guarded = [&](auto&& invoke) {
      try {
        invoke();
      } catch (ForcedUnwind&) {
        call->abandon();  // before the handle goes
        throw;
      } catch (...) {
        call->end(activity_error_from_current_exception());
      }
    };
    if constexpr (kCount == 2) {
      guarded([&] { (*shared)(ActivityContext(call), handle); });
    } else {
      run_activity<std::decay_t<F>>(call, input, [&](auto&& value) {
        guarded([&] { (*shared)(ActivityContext(call), std::forward<decltype(value)>(value), handle); });
      });
    }
  };
}

}  // namespace detail
}  // namespace perdure
