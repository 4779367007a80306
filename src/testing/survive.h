// Calls of functions that a tool was given, whatever they throw.
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include <perdure/detail/thrown.h>

namespace perdure::testing {

// Returns what `call` returns. If it throws, returns what `failed` returns for the text of the exception. Unlike
// detail::contain this also reports std::bad_alloc: the tool has no other way to say what happened.
template <class Call, class Failed>
std::invoke_result_t<Call> survive(Call&& call, Failed&& failed) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::exception& error) {
    const std::string text = perdure::detail::text_of(error);
    return failed(text.empty() ? std::string("an exception without a text was thrown") : text);
  } catch (perdure::detail::ForcedUnwind&) {
    throw;
  } catch (...) {
    return failed(std::string(perdure::detail::kThrewOther));
  }
}

}  // namespace perdure::testing
