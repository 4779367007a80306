#include "cli/history_follower.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include "cli/event_views.h"
#include "cli/instance_views.h"
#include "cli/time_argument.h"
#include "client/store_result.h"
#include "model/event_codec.h"

namespace perdure::cli {

namespace {

// How often --follow looks. The store wakes nobody for an event that does not end an instance.
constexpr Milliseconds kFollowInterval{200};

// Prints events as they come, until the instance has ended.
class HistoryFollower {
 public:
  HistoryFollower(const Context& context, std::shared_ptr<Provider> store, const FollowArguments& arguments)
      : context_(context),
        store_(std::move(store)),
        client_(store_),
        arguments_(arguments),
        execution_(arguments.execution) {
    if (!arguments.timeout.empty()) end_ = store_->steady() + parse_duration("--timeout", arguments.timeout);
  }

  void run() {
    while (true) {
      const OrchestrationStatus status = client_.get_orchestration_status(arguments_.instance);
      if (status.state == OrchestrationState::kNotFound) throw_no_instance(arguments_.instance);
      if (status.incarnation != 0) {
        note_incarnation(status.incarnation);
      } else if (incarnation_ != 0) {
        wait();  // it was replaced, and the next incarnation has not begun
        continue;
      }
      const std::vector<Event> events = read_on();
      // Events that follow those of an earlier incarnation would belong to another one.
      if (client_.get_orchestration_status(arguments_.instance).incarnation != status.incarnation) continue;
      if (!events.empty()) after_ = events.back().id;
      for (const Event& event : events) print(event);
      context_.out.flush();
      const auto last = std::ranges::find_if(
          events, [](const Event& event) { return classify(event.body) == EventClass::kTerminal; });
      const bool continues =
          last != events.end() && std::holds_alternative<events::OrchestrationContinuedAsNew>(last->body);
      // The status was read first, so an execution behind this one means that here nothing comes any more.
      if (continues || (events.empty() && status.execution_id > execution_)) {
        ++execution_;
        after_ = 0;
      } else if (last != events.end() || (events.empty() && status.ended())) {
        return;
      } else if (events.empty()) {
        wait();
      }
    }
  }

 private:
  void note_incarnation(std::uint64_t incarnation) {
    const std::uint64_t before = std::exchange(incarnation_, incarnation);
    if (before == 0 || before == incarnation) return;
    context_.warn("instance '" + arguments_.instance + "' was deleted and started again; its new history follows");
    execution_ = kFirstExecutionId;
    after_ = 0;
    shown_execution_ = 0;
  }

  std::vector<Event> read_on() {
    const auto records = value_of(store_->admin()->read_history(arguments_.instance, execution_, after_));
    if (records.empty()) return {};
    try {
      return decode_history(records);
    } catch (const DecodeError& error) {
      throw ClientError(ProviderError(
          ProviderErrorKind::kCorruptData,
          "the history of instance '" + name_text(arguments_.instance) + "' cannot be read: " + error.what()));
    }
  }

  void print(const Event& event) {
    if (arguments_.json) {
      nlohmann::json line = event_json(event);
      line["instance"] = arguments_.instance;
      line["execution_id"] = execution_;
      print_json_line(context_, line);
      return;
    }
    if (shown_execution_ != execution_) {
      context_.out << painted(context_, Colour::kQuiet, "execution " + std::to_string(execution_)) << '\n';
    }
    shown_execution_ = execution_;
    const std::string id = std::to_string(event.id);
    context_.out << std::string(id.size() < 4 ? 4 - id.size() : 0, ' ') << id << "  " << time_text(event.time) << "  "
                 << painted(context_, event_colour(event), kind_name(event.body)) << "  "
                 << event_text(event.body, arguments_.longest) << '\n';
  }

  void wait() {
    Milliseconds interval = kFollowInterval;
    if (end_) {
      const Milliseconds left = *end_ - store_->steady();
      if (left <= Milliseconds(0)) {
        throw ClientError(ClientErrorKind::kTimeout,
                          "instance '" + name_text(arguments_.instance) + "' did not end within " + arguments_.timeout);
      }
      interval = std::min(interval, left);
    }
    try {
      (void)client_.wait_for_orchestration(arguments_.instance, interval);
    } catch (const ClientError& error) {
      if (error.kind() != ClientErrorKind::kTimeout) throw;  // a timeout only says that it is time to look
    }
  }

  const Context& context_;
  std::shared_ptr<Provider> store_;
  Client client_;
  const FollowArguments& arguments_;
  ExecutionId execution_;
  EventId after_ = 0;
  std::uint64_t incarnation_ = 0;  // whose events are shown; 0: of none yet
  ExecutionId shown_execution_ = 0;
  std::optional<Milliseconds> end_;  // by the steady clock
};

}  // namespace

void follow_history(const Context& context, const std::shared_ptr<Provider>& store, const FollowArguments& arguments) {
  HistoryFollower(context, store, arguments).run();
}

Colour event_colour(const Event& event) {
  if (std::holds_alternative<events::OrchestrationCompleted>(event.body)) return Colour::kGood;
  if (std::holds_alternative<events::OrchestrationFailed>(event.body) ||
      std::holds_alternative<events::ActivityFailed>(event.body) ||
      std::holds_alternative<events::SubOrchestrationFailed>(event.body)) {
    return Colour::kBad;
  }
  return classify(event.body) == EventClass::kBreadcrumb ? Colour::kQuiet : Colour::kStrong;
}

}  // namespace perdure::cli
