// Registry: the code that a node runs: orchestrations by name and version, activities by name.
//
// Mistakes (a bad name, a bad version, a duplicate) are collected, so that a program can report all of them at once:
// see errors().
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <perdure/activity.h>
#include <perdure/activity_handler.h>
#include <perdure/orchestration_handler.h>
#include <perdure/version.h>

namespace perdure {

// Which version a start without a version gets.
class VersionPolicy {
 public:
  [[nodiscard]] static VersionPolicy latest() noexcept { return VersionPolicy(std::nullopt); }
  [[nodiscard]] static VersionPolicy exact(SemanticVersion version) noexcept { return VersionPolicy(version); }
  [[nodiscard]] const std::optional<SemanticVersion>& version() const noexcept { return exact_; }

 private:
  explicit VersionPolicy(std::optional<SemanticVersion> exact) noexcept : exact_(exact) {}
  std::optional<SemanticVersion> exact_;
};

class Registry {
 public:
  // Registers version 1.0.0.
  template <class F>
  Registry& add_orchestration(std::string_view name, F function) {
    return add(name, "1.0.0", detail::make_handler(std::move(function)));
  }
  template <class F>
  Registry& add_orchestration(std::string_view name, std::string_view version, F function) {
    return add(name, version, detail::make_handler(std::move(function)));
  }
  // A function (ActivityContext&) or (ActivityContext&, Input) that runs on a thread of the worker. Its result, or what
  // it throws, is the activity's.
  template <class F>
  Registry& add_activity(std::string_view name, F function) {
    return add_handler(name, detail::make_activity_handler(std::move(function)));
  }
  // The same under a name with types, which the function must have.
  template <class Out, class In, class F>
  Registry& add_activity(const Activity<Out(In)>& activity, F function) {
    using Signature = detail::signature_of<std::decay_t<F>>;
    static_assert(std::is_same_v<typename Signature::result, Out>, "the activity's function returns another type");
    static_assert(std::is_same_v<std::remove_cvref_t<std::tuple_element_t<1, typename Signature::arguments>>, In>,
                  "the activity's function takes another type");
    return add_activity(activity.name(), std::move(function));
  }
  template <class Out, class F>
  Registry& add_activity(const Activity<Out()>& activity, F function) {
    using Signature = detail::signature_of<std::decay_t<F>>;
    static_assert(std::is_same_v<typename Signature::result, Out>, "the activity's function returns another type");
    static_assert(std::tuple_size_v<typename Signature::arguments> == 1, "the activity takes no input");
    return add_activity(activity.name(), std::move(function));
  }
  // A function (ActivityContext, [Input,] ActivityCompletion<T>) that returns at once and completes the activity later,
  // from any thread. It occupies no thread in between.
  template <class F>
  Registry& add_async_activity(std::string_view name, F function) {
    return add_handler(name, detail::make_async_activity_handler(std::move(function)));
  }
  // Puts a handler in the place of the activity of this name, whether or not there is one: for those who watch or
  // replace activities, as tests do.
  Registry& replace_activity(std::string_view name, ActivityHandler handler);
  // Everything of another registry but its policies.
  Registry& merge(const Registry& other);
  // The default is the latest version. check() refuses a policy for an orchestration or a version that is not
  // registered by then.
  Registry& set_version_policy(std::string_view name, VersionPolicy policy);

  // What was registered wrongly, a sentence each.
  [[nodiscard]] const std::vector<std::string>& errors() const noexcept { return errors_; }
  // Throws std::invalid_argument with all of errors(), and with the policies that name something that is not
  // registered, if there are any.
  void check() const;
  // Returns what is wrong with a policy for this name, in a sentence. Returns std::nullopt if nothing is.
  [[nodiscard]] std::optional<std::string> problem_with_policy(std::string_view name,
                                                               const VersionPolicy& policy) const;

  // Without a version, by the policy of the name. Nothing: not registered.
  [[nodiscard]] std::optional<ResolvedOrchestration> resolve(
      std::string_view name, const std::optional<SemanticVersion>& version = std::nullopt) const;
  // Nothing: not registered.
  [[nodiscard]] std::shared_ptr<const ActivityHandler> resolve_activity(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return orchestrations_.contains(name); }
  [[nodiscard]] bool has_activity(std::string_view name) const { return activities_.contains(name); }
  [[nodiscard]] std::size_t size() const noexcept { return orchestrations_.size(); }
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::vector<std::string> activity_names() const;
  // Ascending; empty for an unknown name.
  [[nodiscard]] std::vector<SemanticVersion> versions(std::string_view name) const;

 private:
  using Versions = std::map<SemanticVersion, std::shared_ptr<const OrchestrationHandler>>;

  Registry& add(std::string_view name, std::string_view version, std::shared_ptr<const OrchestrationHandler> handler);
  Registry& add_handler(std::string_view name, ActivityHandler handler);

  std::map<std::string, Versions, std::less<>> orchestrations_;
  std::map<std::string, std::shared_ptr<const ActivityHandler>, std::less<>> activities_;
  std::map<std::string, VersionPolicy, std::less<>> policies_;
  std::vector<std::string> errors_;
};

}  // namespace perdure
