// Registry: orchestrations by name and version.
//
// Mistakes (a bad version, a duplicate) are collected, so that a program can report all of them at once: see errors().
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  // Everything of another registry but its policies.
  Registry& merge(const Registry& other);
  // The default is the latest version.
  Registry& set_version_policy(std::string_view name, VersionPolicy policy);

  // What was registered wrongly, a sentence each.
  [[nodiscard]] const std::vector<std::string>& errors() const noexcept { return errors_; }
  // Throws std::invalid_argument with all of errors(), if there are any.
  void check() const;

  // Without a version, by the policy of the name. Nothing: not registered.
  [[nodiscard]] std::optional<ResolvedOrchestration> resolve(
      std::string_view name, const std::optional<SemanticVersion>& version = std::nullopt) const;
  [[nodiscard]] bool has(std::string_view name) const { return orchestrations_.contains(name); }
  [[nodiscard]] std::size_t size() const noexcept { return orchestrations_.size(); }
  [[nodiscard]] std::vector<std::string> names() const;
  // Ascending; empty for an unknown name.
  [[nodiscard]] std::vector<SemanticVersion> versions(std::string_view name) const;

 private:
  using Versions = std::map<SemanticVersion, std::shared_ptr<const OrchestrationHandler>>;

  Registry& add(std::string_view name, std::string_view version, std::shared_ptr<const OrchestrationHandler> handler);

  std::map<std::string, Versions, std::less<>> orchestrations_;
  std::map<std::string, VersionPolicy, std::less<>> policies_;
  std::vector<std::string> errors_;
};

}  // namespace perdure
