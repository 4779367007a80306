// OrchestrationHandler: a workflow function with its types hidden, as the engine starts it.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <perdure/context.h>
#include <perdure/orchestration.h>
#include <perdure/types.h>
#include <perdure/version.h>

namespace perdure {

// Makes the coroutine of one execution. Throws when the input does not decode.
using OrchestrationHandler = std::function<detail::Root(OrchestrationContext, const Payload&)>;

// A handler with the version it was registered under. Shared: it outlives the coroutines made from it, and with it a
// lambda's captures.
struct ResolvedOrchestration {
  SemanticVersion version;
  std::shared_ptr<const OrchestrationHandler> handler;
};

namespace detail {

template <class F>
struct signature_of : signature_of<decltype(&F::operator())> {};
template <class R, class... A>
struct signature_of<R (*)(A...)> {
  using result = R;
  using arguments = std::tuple<A...>;
};
template <class R, class... A>
struct signature_of<R (*)(A...) noexcept> : signature_of<R (*)(A...)> {};
template <class R, class C, class... A>
struct signature_of<R (C::*)(A...) const> : signature_of<R (*)(A...)> {};
template <class R, class C, class... A>
struct signature_of<R (C::*)(A...)> : signature_of<R (*)(A...)> {};
template <class R, class C, class... A>
struct signature_of<R (C::*)(A...) const noexcept> : signature_of<R (*)(A...)> {};
template <class R, class C, class... A>
struct signature_of<R (C::*)(A...) noexcept> : signature_of<R (*)(A...)> {};

template <std::size_t Count, class... A>
struct without_first_of {
  using type = std::tuple<A...>;
};
template <std::size_t Count, class First, class... A>
  requires(Count > 0)
struct without_first_of<Count, First, A...> : without_first_of<Count - 1, A...> {};

template <std::size_t Count, class Arguments>
struct unbound_arguments_of;
template <std::size_t Count, class... A>
struct unbound_arguments_of<Count, std::tuple<A...>> : without_first_of<Count, A...> {};

// std::bind_front(function, bound...): the parameters of the function behind the bound ones. The object that a member
// function is bound to is not one of its parameters.
template <template <class...> class Binding, class F, class... Bound>
  requires std::same_as<Binding<F, Bound...>, decltype(std::bind_front(std::declval<F>(), std::declval<Bound>()...))>
struct signature_of<Binding<F, Bound...>> {
  using result = typename signature_of<F>::result;
  using arguments = typename unbound_arguments_of<sizeof...(Bound) - (std::is_member_function_pointer_v<F> ? 1 : 0),
                                                  typename signature_of<F>::arguments>::type;
};

template <class T>
inline constexpr bool is_orchestration = false;
template <class T>
inline constexpr bool is_orchestration<Orchestration<T>> = true;

template <class F>
std::shared_ptr<const OrchestrationHandler> make_handler(F function) {
  using Signature = signature_of<std::decay_t<F>>;
  using Arguments = typename Signature::arguments;
  constexpr std::size_t kCount = std::tuple_size_v<Arguments>;
  static_assert(is_orchestration<typename Signature::result>,
                "a registered orchestration returns perdure::Orchestration<T>");
  static_assert(kCount == 1 || kCount == 2,
                "a registered orchestration takes (OrchestrationContext) or "
                "(OrchestrationContext, Input)");
  static_assert(std::is_same_v<std::tuple_element_t<0, Arguments>, OrchestrationContext>,
                "the first parameter of a registered orchestration is perdure::OrchestrationContext, by value");
  // Shared: a handler is copied; captures of the function need not be copyable.
  auto shared = std::make_shared<const F>(std::move(function));
  if constexpr (kCount == 2) {
    using Input = std::tuple_element_t<1, Arguments>;
    static_assert(is_safe_parameter<Input>, "a registered orchestration takes its input by value");
    return std::make_shared<const OrchestrationHandler>(
        [shared = std::move(shared)](OrchestrationContext ctx, const Payload& input) {
          return (*shared)(ctx, decode_payload<std::remove_cv_t<Input>>(input)).release();
        });
  } else {
    return std::make_shared<const OrchestrationHandler>(
        [shared = std::move(shared)](OrchestrationContext ctx, const Payload&) { return (*shared)(ctx).release(); });
  }
}

}  // namespace detail

}  // namespace perdure
