// The text of an exception of user code, for every boundary between the engine and that code.
//
// A forced unwind (pthread_exit, thread cancellation) is not a throw of the code: it must go on to the end of the
// thread, or the C library ends the process. So no boundary contains it.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

namespace perdure::detail {

#ifdef __GLIBCXX__
using ForcedUnwind = abi::__forced_unwind;
#else
struct ForcedUnwind {};  // never thrown
#endif

inline constexpr const char* kThrewOther = "something was thrown that is not a std::exception";

// Returns what() of the exception as UTF-8, at most kMaxErrorTextBytes of it and notes that say what was changed.
// Returns a sentence if what() returns null.
[[nodiscard]] std::string text_of(const std::exception& error);

// Returns what `call` returns. If it throws, returns what `failed` returns for the text of the exception. A process
// that is short of memory says nothing about the value: std::bad_alloc goes on.
template <class Call, class Failed>
std::invoke_result_t<Call> contain(Call&& call, Failed&& failed) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return failed(text_of(error));
  } catch (ForcedUnwind&) {
    throw;
  } catch (...) {
    return failed(std::string(kThrewOther));
  }
}

}  // namespace perdure::detail
