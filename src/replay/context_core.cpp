// The ground of the coroutine layer: which instance runs here, where frames come from, what futures do to their slots.
#include <perdure/detail/context_core.h>

#include <new>
#include <string>

#include <perdure/detail/promise.h>
#include <perdure/error.h>
#include <perdure/future.h>
#include <perdure/orchestration.h>
#include <perdure/task.h>

namespace perdure::detail {

namespace {
thread_local ContextCore* t_current = nullptr;
}

ContextCore* ContextCore::current() noexcept {
  return t_current;
}

ContextCore::Running::Running(ContextCore& core) noexcept : previous_(std::exchange(t_current, &core)) {}
ContextCore::Running::~Running() {
  t_current = previous_;
}

// Compares before it touches: the core of a context that was kept somewhere may be gone.
ContextCore& running_core(ContextCore* core, std::string_view what) {
  if (core == t_current && core) return *core;
  throw MisuseError(std::string(what) +
                    " was called outside its orchestration's turn; use a context only in the orchestration that "
                    "received it, on its thread, until it suspends");
}

void* PromiseBase::operator new(std::size_t size) {
  void* frame = ::operator new(size);
  if (t_current) t_current->count_frame(static_cast<std::ptrdiff_t>(size));
  return frame;
}

void PromiseBase::operator delete(void* frame, std::size_t size) noexcept {
  if (t_current) t_current->count_frame(-static_cast<std::ptrdiff_t>(size));
  ::operator delete(frame);  // clang before 19 does not declare the sized form
}

void throw_task_taken_twice() {
  throw MisuseError("a perdure::Task was awaited twice; its value was moved out by the first await");
}

void throw_task_without_value() {
  throw MisuseError("a perdure::Task ended without a value; co_return one on every path of its function");
}

void throw_orchestration_without_value() {
  throw MisuseError(
      "the orchestration ended without an output; co_return one, or continue_as_new, on every path of its function");
}

void throw_task_moved_from() {
  throw MisuseError("a perdure::Task that has been moved from was awaited");
}

void throw_future_moved_from() {
  throw MisuseError("a future that has been moved from was used");
}

// ---- futures and their slots
// -----------------------------------------------------------------------------------------

Error slot_error(const Slot& slot) {
  const auto source =
      slot.kind == OperationKind::kSubOrchestration ? Error::Source::kSubOrchestration : Error::Source::kActivity;
  return {source, slot.name, *slot.error};
}

Error codec_error(const Slot& slot, const std::string& reason) {
  return {Error::Source::kCodec, slot.name,
          ApplicationError{ApplicationErrorKind::kOrchestrationFailed, reason, false}};
}

void drop_slot(SlotRef& slot) noexcept {
  ContextCore* core = slot->core.load(std::memory_order_relaxed);
  if (core && core == t_current) core->drop(*slot);
  slot = SlotRef();
}

void detach_slot(SlotRef& slot) {
  if (!slot) throw_future_moved_from();
  running_core(slot->core.load(std::memory_order_relaxed), "detach").detach(slot);
  slot = SlotRef();
}

void check_slot(const SlotRef& slot, ContextCore& core) {
  if (!slot) throw_future_moved_from();
  if (slot->core.load(std::memory_order_relaxed) != &core) {
    throw MisuseError("the future of '" + slot->name +
                      "' was awaited by another orchestration than the one that created it");
  }
}

void mark_taken(Slot& slot) noexcept {
  ContextCore* core = slot.core.load(std::memory_order_relaxed);
  if (core && core == t_current) core->taken(slot);
}

}  // namespace perdure::detail
