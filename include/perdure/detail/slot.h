// Slot: one scheduled operation between the code that waits for it and the engine that will complete it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <perdure/detail/completion.h>
#include <perdure/error_details.h>
#include <perdure/types.h>

namespace perdure::detail {

class ContextCore;

enum class OperationKind : std::uint8_t { kActivity, kTimer, kExternal, kQueue, kSubOrchestration, kRetriedActivity };

// Keeps a coroutine that completes a slot (the retry loop) as long as the slot.
class SlotDriver {
 public:
  virtual ~SlotDriver() = default;
};

// Shared by its future and its instance, either of which may go first, on any thread; hence the atomics. Everything
// else is touched only by the instance's own turn.
struct Slot {
  Slot(ContextCore& owner, OperationKind operation, std::string operation_name)
      : core(&owner), kind(operation), name(std::move(operation_name)) {}

  std::atomic<std::uint32_t> references{0};
  std::atomic<ContextCore*> core;  // null once the instance is gone
  OperationKind kind;
  bool failed = false;
  bool detached = false;       // runs on although no future looks at it
  EventId schedule_id = 0;     // 0: inert, or made of several operations
  std::uint32_t attempts = 1;  // a failed activity: how often it was fetched
  std::string name;
  Payload payload;
  std::unique_ptr<ErrorDetails> error;
  std::unique_ptr<SlotDriver> driver;
  Completion completion;
};

// Intrusive pointer to a Slot.
class SlotRef {
 public:
  SlotRef() = default;
  explicit SlotRef(Slot* slot) noexcept : slot_(slot) { acquire(); }
  SlotRef(const SlotRef& other) noexcept : slot_(other.slot_) { acquire(); }
  SlotRef(SlotRef&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  SlotRef& operator=(SlotRef other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~SlotRef() {
    if (slot_ && slot_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete slot_;
  }

  [[nodiscard]] Slot* get() const noexcept { return slot_; }
  Slot* operator->() const noexcept { return slot_; }
  Slot& operator*() const noexcept { return *slot_; }
  explicit operator bool() const noexcept { return slot_ != nullptr; }

 private:
  void acquire() noexcept {
    if (slot_) slot_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Slot* slot_ = nullptr;
};

}  // namespace perdure::detail
