// ContextCore: what the coroutine layer needs of the engine. The live instance implements it.
#pragma once

#include <cstddef>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <perdure/detail/completion.h>
#include <perdure/detail/slot.h>
#include <perdure/event.h>
#include <perdure/log_level.h>
#include <perdure/options.h>
#include <perdure/types.h>

namespace perdure::detail {

class ContextCore {
 public:
  // The instance whose code runs on this thread now, or null. A context is usable exactly while it is this one.
  [[nodiscard]] static ContextCore* current() noexcept;

  // Nothing that the code does has an effect any more: it ended, was found to diverge from its history, or is being
  // destroyed. Calls answer with inert values, and a co_await never resumes.
  [[nodiscard]] virtual bool inert() const noexcept = 0;

  // Decisions. The slot is inert when the instance is.
  [[nodiscard]] virtual SlotRef open(EventBody decision) = 0;
  virtual void chain(events::OrchestrationChained start) = 0;
  [[nodiscard]] virtual std::string record(RecordedValueKind kind) = 0;
  virtual void set_custom_status(std::optional<std::string> status) = 0;
  virtual void set_key_value(std::string key, std::string value) = 0;
  virtual void clear_key_value(std::string key) = 0;
  virtual void clear_key_values() = 0;
  [[nodiscard]] virtual std::size_t prune_key_values(Timestamp updated_before) = 0;
  virtual void continue_as_new(Payload input, std::optional<SemanticVersion> version) = 0;

  // Life of a slot's future.
  virtual void drop(Slot& slot) noexcept = 0;
  virtual void detach(const SlotRef& slot) = 0;
  virtual void taken(Slot& slot) noexcept = 0;

  // Plain reads.
  [[nodiscard]] virtual const std::optional<std::string>& custom_status() const = 0;
  [[nodiscard]] virtual std::optional<std::string> key_value(const std::string& key) const = 0;
  [[nodiscard]] virtual std::map<std::string, std::string> key_values() const = 0;
  [[nodiscard]] virtual const std::string& instance_id() const = 0;
  [[nodiscard]] virtual ExecutionId execution_id() const = 0;
  [[nodiscard]] virtual const std::string& orchestration_name() const = 0;
  [[nodiscard]] virtual std::optional<SemanticVersion> orchestration_version() const = 0;
  [[nodiscard]] virtual Timestamp now() const = 0;
  [[nodiscard]] virtual bool is_replaying() const = 0;
  virtual void trace(LogLevel level, std::string_view message) = 0;

  [[nodiscard]] Rank next_rank() noexcept { return {current_event_, ++sequence_}; }
  [[nodiscard]] ReadyQueue& ready() noexcept { return ready_; }
  void count_frame(std::ptrdiff_t bytes) noexcept { frame_bytes_ += bytes; }
  // The engine's own coroutine failed, and no code awaits it: the turn must not be committed. It runs again later.
  void abandon_turn(std::exception_ptr failure) noexcept { turn_failure_ = std::move(failure); }
  // A RetryPolicy has scheduled another attempt.
  void count_retry(const std::string& activity) {
    if (!is_replaying() && !inert()) retried_.push_back(activity);
  }

 protected:
  ContextCore() = default;
  ContextCore(const ContextCore&) = delete;
  ContextCore& operator=(const ContextCore&) = delete;
  ~ContextCore() = default;

  // Marks the instance as the one that runs on this thread, for a scope.
  class Running {
   public:
    explicit Running(ContextCore& core) noexcept;
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

   private:
    ContextCore* previous_;
  };

  EventId current_event_ = 0;
  std::uint32_t sequence_ = 0;
  std::ptrdiff_t frame_bytes_ = 0;
  ReadyQueue ready_;
  std::vector<std::string> retried_;  // names of activities, in this turn
  std::exception_ptr turn_failure_;   // of abandon_turn()
};

// The core of a context or future that is used now; throws MisuseError when it is not the running instance.
ContextCore& running_core(ContextCore* core, std::string_view what);

}  // namespace perdure::detail
