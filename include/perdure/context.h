// OrchestrationContext: the interface through which an orchestration schedules work and observes results.
//
// A pointer-sized handle, passed by value. Everything it schedules is recorded where it is called. It is usable by the
// orchestration it was given to, during that orchestration's turn, on the turn's thread; anywhere else it throws
// MisuseError.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <perdure/activity.h>
#include <perdure/codec.h>
#include <perdure/combinators.h>
#include <perdure/detail/context_core.h>
#include <perdure/detail/thrown.h>
#include <perdure/future.h>
#include <perdure/options.h>
#include <perdure/types.h>

namespace perdure {

class OrchestrationContext {
 public:
  explicit OrchestrationContext(detail::ContextCore& core) noexcept : core_(&core) {}

  // ---- operations ------------------------------------------------------------------------------------------------
  // A name that breaks the rule for names (limits.h) throws MisuseError.

  // Runs an activity on some worker, at least once. co_await throws ActivityError when it failed.
  template <class Out, class In>
    requires(!std::same_as<std::remove_cvref_t<In>, ActivityOptions>)
  Future<Out> schedule_activity(std::string_view name, In&& input, const ActivityOptions& options = ActivityOptions()) {
    return Future<Out>(schedule_activity_raw(name, encode<In>(input), options));
  }
  template <class Out>
  Future<Out> schedule_activity(std::string_view name, const ActivityOptions& options = ActivityOptions()) {
    return Future<Out>(schedule_activity_raw(name, std::nullopt, options));
  }
  template <class Out, class In, class Argument>
  Future<Out> schedule_activity(const Activity<Out(In)>& activity, Argument&& input,
                                const ActivityOptions& options = ActivityOptions()) {
    static_assert(std::convertible_to<Argument&&, In>, "the input is not what this activity takes");
    refuse_aggregate_temporary<Argument>();
    return Future<Out>(schedule_activity_raw(activity.name(), detail::encode_payload<In>(input), options));
  }
  template <class Out>
  Future<Out> schedule_activity(const Activity<Out()>& activity, const ActivityOptions& options = ActivityOptions()) {
    return Future<Out>(schedule_activity_raw(activity.name(), std::nullopt, options));
  }

  // A durable timer; negative delays count as zero, and there is no longest one.
  Future<void> schedule_timer(Milliseconds delay);
  Future<void> schedule_timer_at(Timestamp fire_at);

  // The next event of that name raised from outside while somebody waits for it; an event that nobody waits for is
  // lost.
  template <class T>
  Future<T> schedule_wait(std::string_view name) {
    return Future<T>(subscribe(name));
  }
  // The next message of a queue, which keeps messages until they are read, also over continue-as-new.
  template <class T>
  Future<T> dequeue_event(std::string_view queue) {
    return Future<T>(dequeue(queue));
  }

  // A child: it reports back, and is cancelled when its future is dropped or this orchestration ends. co_await throws
  // SubOrchestrationError when it failed.
  template <class Out, class In>
    requires(!std::same_as<std::remove_cvref_t<In>, SubOrchestrationOptions>)
  Future<Out> schedule_sub_orchestration(std::string_view name, In&& input,
                                         const SubOrchestrationOptions& options = SubOrchestrationOptions()) {
    return Future<Out>(schedule_child(name, encode<In>(input), options));
  }
  template <class Out>
  Future<Out> schedule_sub_orchestration(std::string_view name,
                                         const SubOrchestrationOptions& options = SubOrchestrationOptions()) {
    return Future<Out>(schedule_child(name, std::nullopt, options));
  }

  // Starts another orchestration and forgets it.
  template <class In>
    requires(!std::same_as<std::remove_cvref_t<In>, StartOptions>)
  void schedule_orchestration(std::string_view name, std::string_view instance_id, In&& input,
                              const StartOptions& options = StartOptions()) {
    start_detached(name, instance_id, encode<In>(input), options);
  }
  void schedule_orchestration(std::string_view name, std::string_view instance_id,
                              const StartOptions& options = StartOptions()) {
    start_detached(name, instance_id, std::nullopt, options);
  }

  // Ends this execution here and starts the next with `input` and an empty history; queue messages that were not read
  // go along. `co_return ctx.continue_as_new(x);`, or `co_await` it from a helper or a void orchestration. Nothing of
  // this execution runs after the next co_await.
  template <class In>
    requires(!std::same_as<std::remove_cvref_t<In>, StartOptions>)
  ContinueAsNew continue_as_new(In&& input, const StartOptions& options = StartOptions()) {
    end_with_continue_as_new(encode<In>(input), options);
    return {};
  }
  ContinueAsNew continue_as_new(const StartOptions& options = StartOptions()) {
    end_with_continue_as_new(std::nullopt, options);
    return {};
  }

  // ---- many of them ----------------------------------------------------------------------------------------------

  template <class Part>
  JoinMany<Part> join(std::vector<Part> parts) const {
    return JoinMany<Part>(std::move(parts));
  }
  // Throws MisuseError when the vector is empty, since that would wait for ever.
  template <class Part>
  SelectMany<std::vector<Part>> select(std::vector<Part>&& parts) const {
    check_not_empty(parts.size());
    return SelectMany<std::vector<Part>>(std::move(parts));
  }
  template <class Part>
  SelectMany<std::vector<Part>&> select(std::vector<Part>& parts) const {
    check_not_empty(parts.size());
    return SelectMany<std::vector<Part>&>(parts);
  }

  // ---- recorded values -------------------------------------------------------------------------------------------

  // A random UUID (version 4), the time of the turn, 64 random bits: recorded, so that a replay sees the same.
  [[nodiscard]] std::string new_guid();
  [[nodiscard]] Timestamp utc_now();
  [[nodiscard]] std::uint64_t random();

  // ---- custom status ---------------------------------------------------------------------------------------------

  void set_custom_status(std::string status);
  void reset_custom_status();
  [[nodiscard]] std::optional<std::string> get_custom_status() const;

  // ---- key values, durable and readable from outside, kept over continue-as-new -----------------------------------

  template <class T>
  void set_kv_value(std::string_view key, const T& value) {
    set_kv(key, detail::encode_payload<detail::encoded_as<T>>(value).value_or(std::string()));
  }
  // Throws CodecError when the stored text is no T.
  template <class T>
  [[nodiscard]] std::optional<T> get_kv_value(std::string_view key) const {
    const Payload text = get_kv(key);
    if (!text) return std::nullopt;
    return detail::contain([&]() -> std::optional<T> { return detail::decode_payload<T>(text); },
                           [&](const std::string& error) -> std::optional<T> { throw_kv_codec_error(key, error); });
  }
  [[nodiscard]] std::map<std::string, std::string> get_kv_all_values() const;
  [[nodiscard]] std::vector<std::string> get_kv_all_keys() const;
  [[nodiscard]] std::size_t get_kv_length() const;
  void clear_kv_value(std::string_view key);
  void clear_all_kv_values();
  // Clears the keys last set before that time and tells how many there were.
  std::size_t prune_kv_values_updated_before(Timestamp time);
  // Reads another instance's key; an activity that every worker serves.
  template <class T>
  Future<std::optional<T>> get_kv_value_from_instance(std::string_view instance_id, std::string_view key) {
    return Future<std::optional<T>>(read_foreign_kv(instance_id, key));
  }

  // ---- about itself ----------------------------------------------------------------------------------------------

  [[nodiscard]] const std::string& instance_id() const;
  [[nodiscard]] ExecutionId execution_id() const;
  [[nodiscard]] const std::string& orchestration_name() const;
  [[nodiscard]] SemanticVersion orchestration_version() const;
  [[nodiscard]] bool is_replaying() const;

  // Log lines that are not repeated on replay.
  void trace(LogLevel level, std::string_view message) const;
  void trace_debug(std::string_view message) const { trace(LogLevel::kDebug, message); }
  void trace_info(std::string_view message) const { trace(LogLevel::kInfo, message); }
  void trace_warn(std::string_view message) const { trace(LogLevel::kWarn, message); }
  void trace_error(std::string_view message) const { trace(LogLevel::kError, message); }

 private:
  friend class Saga;

  template <class Input>
  static constexpr void refuse_aggregate_temporary() {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
    static_assert(std::is_lvalue_reference_v<Input> || !std::is_aggregate_v<std::remove_cvref_t<Input>> ||
                      std::is_trivially_destructible_v<std::remove_cvref_t<Input>>,
                  "g++ 12 destroys an aggregate temporary twice inside a co_await expression (GCC PR 95599 and "
                  "relatives): give the input a name first");
#endif
  }
  template <class In>
  static Payload encode(const std::remove_cvref_t<In>& input) {
    refuse_aggregate_temporary<In>();
    return detail::encode_payload<detail::encoded_as<std::decay_t<In>>>(input);
  }
  [[nodiscard]] detail::ContextCore& core(std::string_view call) const { return detail::running_core(core_, call); }

  detail::SlotRef schedule_activity_raw(std::string_view name, Payload input, const ActivityOptions& options);
  detail::SlotRef subscribe(std::string_view name);
  detail::SlotRef dequeue(std::string_view queue);
  detail::SlotRef schedule_child(std::string_view name, Payload input, const SubOrchestrationOptions& options);
  detail::SlotRef read_foreign_kv(std::string_view instance_id, std::string_view key);
  void start_detached(std::string_view name, std::string_view instance_id, Payload input, const StartOptions& options);
  void end_with_continue_as_new(Payload input, const StartOptions& options);
  void set_kv(std::string_view key, std::string value);
  [[nodiscard]] Payload get_kv(std::string_view key) const;
  [[noreturn]] static void throw_kv_codec_error(std::string_view key, const std::string& reason);
  static void check_not_empty(std::size_t size);

  detail::ContextCore* core_;
};

}  // namespace perdure
