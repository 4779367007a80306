// Compile-time checks of what a coroutine takes: its frame outlives temporaries, so everything must be a value.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>

namespace perdure {
class OrchestrationContext;
}

namespace perdure::detail {

template <class T>
inline constexpr bool is_view = false;
template <class Char, class Traits>
inline constexpr bool is_view<std::basic_string_view<Char, Traits>> = true;
template <class T, std::size_t Extent>
inline constexpr bool is_view<std::span<T, Extent>> = true;
template <class T>
inline constexpr bool is_view<std::reference_wrapper<T>> = true;

template <class T>
inline constexpr bool is_safe_parameter = !std::is_reference_v<T> && !is_view<std::remove_cv_t<T>>;

template <class... Parameters>
inline constexpr bool are_safe_parameters = (is_safe_parameter<Parameters> && ...);
// A member function's object or a lambda's closure comes first, as a reference to a class, and the context behind it.
// (The closure is not complete yet where this is asked; CapturesRefused looks into it later.)
template <class Object, class... Parameters>
  requires std::is_lvalue_reference_v<Object> && std::is_class_v<std::remove_reference_t<Object>>
inline constexpr bool are_safe_parameters<Object, OrchestrationContext, Parameters...> =
    (is_safe_parameter<Parameters> && ...);

// The frame is destroyed where an exception would end the process.
template <class... Parameters>
inline constexpr bool are_safely_destroyed = (std::is_nothrow_destructible_v<Parameters> && ...);

// A lambda that captures nothing turns into a function pointer. (Being empty says the same, except on g++ 12 for a
// lambda inside a coroutine, which is never empty; and a generic lambda has no one function pointer.)
template <class Closure>
inline constexpr bool captures_nothing = std::is_empty_v<Closure> || requires(const Closure& closure) { +closure; };

// A lambda's captures live in the closure, not in the frame. g++ hands the closure to the promise; clang does not, and
// clang-tidy's cppcoreguidelines-avoid-capturing-lambda-coroutines covers it there.
template <class... Arguments>
struct CapturesRefused {};
template <class Object, class... Rest>
struct CapturesRefused<Object, Rest...> {
  static_assert(!std::is_invocable_v<Object&, Rest&...> || captures_nothing<Object>,
                "a perdure::Task lambda must not capture: its captures die before it resumes; pass them as parameters");
};

}  // namespace perdure::detail
