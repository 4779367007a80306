// What must hold of an instance of "Life" at any time.
#include <utility>

#include "lifecycles/lifecycle_seed.h"
#include "lifecycles/random_life.h"

namespace perdure::test {

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

const LifecycleSeed::Request* LifecycleSeed::root_of(const std::string& generation) const {
  const auto found = starts_.find(generation.substr(0, generation.find('.')));
  return found == starts_.end() ? nullptr : &found->second;
}

void LifecycleSeed::judge(const std::string& id, const OrchestrationStatus& status, std::uint64_t looked) {
  const std::string text = status.error_text();
  const std::string custom_status = status.custom_status.value_or("");  // empty: it has had no turn
  const std::string generation = custom_status.substr(0, custom_status.find(' '));
  const std::string shown = id + " (" + custom_status + ") is " + std::string(to_string(status.state)) + ": " + text;
  switch (status.state) {
    case OrchestrationState::kCompleted:
      return judge_result(id, status, looked);
    case OrchestrationState::kFailed:
      if (text != kOwnFailure + generation) problem(shown);
      return;
    case OrchestrationState::kTerminated:
      return judge_end(id, generation, text, kClientTerminates);
    case OrchestrationState::kCancelled:
      if (contains(text, kClientCancels)) return judge_end(id, generation, text, kClientCancels);
      // A parent's end reaches what it has detached only if it is cancelled or terminated (guide.md). check_histories
      // checks the parent.
      if (!text.starts_with("cancelled: parent ") || custom_status.ends_with(kTopLevel)) problem(shown);
      if (custom_status.ends_with(kDetachedChild) && text != "cancelled: parent cancelled" &&
          text != "cancelled: parent terminated") {
        problem(shown);
      }
      return;
    default:
      return;
  }
}

// It belongs to this id, and not to one that was there before another start had succeeded.
void LifecycleSeed::judge_result(const std::string& id, const OrchestrationStatus& status, std::uint64_t looked) {
  const auto output = status.result<LifeOutput>();
  const std::string& generation = output.generation;
  const std::scoped_lock lock(mutex_);
  const auto fault = [&](const std::string& what) {
    problems_.push_back("seed " + std::to_string(seed_) + ": " + id + " completed with " + generation + ", " + what);
  };
  if (!status.custom_status || !status.custom_status->starts_with(generation + " ")) {
    return fault("and has the custom status " + status.custom_status.value_or("(none)"));
  }
  if (output.id != id) return fault("which belongs to " + output.id);
  const Request* const root = root_of(generation);
  if (!root) return fault("which nobody started");
  if (generation.find('.') != std::string::npos) return;  // a child of it, or what it has started
  if (root->instance != id) return fault("which belongs to " + root->instance);
  if (!root->ended) return;
  for (const auto& [other, start] : starts_) {
    const bool later = start.instance == id && start.began > *root->ended;
    if (later && start.ended && *start.ended < looked) return fault("though " + other + " was started after it");
  }
}

void LifecycleSeed::judge_end(const std::string& id, const std::string& generation, const std::string& text,
                              const char* words) {
  const std::string beginning = words + ("'" + id + "', request ");
  const std::size_t found = text.find(beginning);
  if (found == std::string::npos) return problem(id + " (" + generation + ") was ended by another's request: " + text);
  judge_request(id, generation, std::stoull(text.substr(found + beginning.size())), "was ended by");
}

void LifecycleSeed::judge_request(const std::string& id, const std::string& generation, std::uint64_t number,
                                  const std::string& shown) {
  const std::scoped_lock lock(mutex_);
  const auto fault = [&](const std::string& what) {
    problems_.push_back("seed " + std::to_string(seed_) + ": " + id + " (" + generation + ") " + shown + " request " +
                        std::to_string(number) + ", " + what);
  };
  const auto request = requests_.find(number);
  if (request == requests_.end() || request->second.instance != id) return fault("which was not sent to it");
  if (generation.empty() || !request->second.needs_instance) return;
  const Request* const root = root_of(generation);
  if (!root) return fault("and nobody started it");
  if (request->second.ended && *request->second.ended < root->began) return fault("which ended before its start");
}

}  // namespace perdure::test
