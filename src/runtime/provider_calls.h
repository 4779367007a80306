// ProviderCalls: a store as a node calls it. What a provider throws, and answers of the wrong length, become errors;
// each call is timed, and its errors and its elements are counted.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/detail/thrown.h>
#include <perdure/engine_metrics.h>
#include <perdure/provider.h>
#include <perdure/provider_error.h>

namespace perdure::runtime {

class ProviderCalls {
 public:
  ProviderCalls(std::shared_ptr<Provider> store, Metrics metrics)
      : store_(std::move(store)), metrics_(std::move(metrics)) {}

  [[nodiscard]] Provider& store() const noexcept { return *store_; }

  // A call with one answer.
  template <class Call>
  auto one(std::string_view operation, Call call) const -> decltype(call()) {
    const auto begin = start();
    auto answer = guarded(call, [](const ProviderError& error) { return decltype(call())(error); });
    finish(operation, begin, !answer);
    if (answer) {
      if constexpr (requires { answer->items.size(); }) count_elements(operation, answer->items.size());
    } else {
      count_error(operation, answer.error());
    }
    return answer;
  }

  // A call with an outcome for each of `expected` elements. It counts as failed if they all did.
  template <class Call>
  auto batch(std::string_view operation, std::size_t expected, Call call) const -> decltype(call()) {
    using Answers = decltype(call());
    const auto all = [&](const ProviderError& error) { return Answers(expected, typename Answers::value_type(error)); };
    const auto begin = start();
    Answers answers = guarded(call, all);
    if (answers.size() != expected) {
      answers = all({ProviderErrorKind::kStoreFailed, "the provider returned " + std::to_string(answers.size()) +
                                                          " results for " + std::to_string(expected) + " elements"});
    }
    const auto failed = [](const auto& each) { return !each; };
    finish(operation, begin, !answers.empty() && std::all_of(answers.begin(), answers.end(), failed));
    count_elements(operation, expected);
    for (const auto& each : answers) {
      if (!each) count_error(operation, each.error());
    }
    return answers;
  }

  // Something else that takes time.
  template <class Call>
  auto timed(const MetricId& histogram, Call call) const -> decltype(call()) {
    const auto begin = start();
    auto result = call();
    if (metrics_.enabled()) metrics_.observe(histogram, {}, seconds_since(begin));
    return result;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;

  template <class Call, class Fail>
  static auto guarded(Call& call, Fail fail) -> decltype(call()) {
    try {
      return call();
    } catch (const std::exception& error) {
      return fail({ProviderErrorKind::kStoreFailed, "the provider threw an exception: " + detail::text_of(error)});
    } catch (...) {
      return fail({ProviderErrorKind::kStoreFailed, "the provider threw something that is not a std::exception"});
    }
  }
  [[nodiscard]] Time start() const { return metrics_.enabled() ? std::chrono::steady_clock::now() : Time(); }
  [[nodiscard]] static double seconds_since(Time begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  void finish(std::string_view operation, Time begin, bool failed) const {
    if (!metrics_.enabled()) return;
    metrics_.observe(metric::kProviderOperationDuration,
                     {{"operation", operation}, {"status", failed ? "error" : "success"}}, seconds_since(begin));
  }
  void count_elements(std::string_view operation, std::size_t count) const {
    if (count > 0) metrics_.observe(metric::kProviderBatchSize, {{"operation", operation}}, static_cast<double>(count));
  }
  void count_error(std::string_view operation, const ProviderError& error) const {
    metrics_.add(metric::kProviderErrors, {{"operation", operation}, {"error_type", to_string(error.kind())}});
  }

  std::shared_ptr<Provider> store_;
  Metrics metrics_;
};

}  // namespace perdure::runtime
