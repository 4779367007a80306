// What the activities of the random lifecycles did: files that no store knows of, one for the ids of each seed. A line
// is one write to a file opened for appending, so killed processes leave whole lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <perdure/types.h>

namespace perdure::test {

// One run of an activity.
struct Effect {
  std::string key;         // ActivityContext::idempotency_key
  std::string generation;  // of the instance that scheduled it
  ExecutionId execution = 0;
  EventId activity = 0;
  std::uint32_t attempt = 0;
};
[[nodiscard]] std::string to_string(const Effect& effect);

class LifeLedger {
 public:
  // An existing folder.
  explicit LifeLedger(std::string folder) : folder_(std::move(folder)) {}

  // From any thread and process. Throws std::system_error, as all functions here do.
  void add(const std::string& prefix, const Effect& effect) const;
  [[nodiscard]] std::vector<Effect> effects(const std::string& prefix) const;
  // When nothing writes to it any more.
  void remove(const std::string& prefix) const;
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

 private:
  [[nodiscard]] std::string path(const std::string& prefix) const { return folder_ + "/effects-" + prefix; }
  std::string folder_;
};

}  // namespace perdure::test
