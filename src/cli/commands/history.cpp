// history
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include <perdure/history_text.h>
#include "cli/commands.h"
#include "cli/event_views.h"
#include "cli/history_timeline.h"
#include "cli/instance_views.h"
#include "cli/number_argument.h"
#include "cli/time_argument.h"
#include "client/store_result.h"
#include "model/event_codec.h"

namespace perdure::cli {

namespace {

// How often --follow looks. The store wakes nobody for an event that does not end an instance.
constexpr Milliseconds kFollowInterval{200};
constexpr std::size_t kShownOfPayload = 80;

struct HistoryArguments {
  std::string instance;
  ExecutionId execution = 0;  // 0: the current one
  std::string format;         // empty: a table, or JSON with --json
  bool follow = false;
  bool full = false;
  std::string timeout;

  [[nodiscard]] std::size_t longest() const { return full ? std::string::npos : kShownOfPayload; }
};

Colour event_colour(const Event& event) {
  if (std::holds_alternative<events::OrchestrationCompleted>(event.body)) return Colour::kGood;
  if (std::holds_alternative<events::OrchestrationFailed>(event.body) ||
      std::holds_alternative<events::ActivityFailed>(event.body) ||
      std::holds_alternative<events::SubOrchestrationFailed>(event.body)) {
    return Colour::kBad;
  }
  return classify(event.body) == EventClass::kBreadcrumb ? Colour::kQuiet : Colour::kStrong;
}

void print_event_table(const Context& context, const std::vector<Event>& history, std::size_t longest) {
  Table table({"EVENT", "TIME", "TURN", "KIND", "DETAILS"});
  for (const Event& event : history) {
    table.add({std::to_string(event.id), time_text(event.time), std::to_string(event.turn),
               painted(context, event_colour(event), kind_name(event.body)), event_text(event.body, longest)});
  }
  table.print(context);
}

// Prints events as they come, until the instance has ended.
class HistoryFollower {
 public:
  HistoryFollower(const Context& context, std::shared_ptr<Provider> store, const HistoryArguments& arguments,
                  ExecutionId execution)
      : context_(context),
        store_(std::move(store)),
        client_(store_),
        arguments_(arguments),
        execution_(execution),
        json_(arguments.format == "json") {
    if (!arguments.timeout.empty()) deadline_ = store_->now() + parse_duration("--timeout", arguments.timeout);
  }

  void run() {
    while (true) {
      const OrchestrationStatus status = client_.get_orchestration_status(arguments_.instance);
      if (status.state == OrchestrationState::kNotFound) throw_no_instance(arguments_.instance);
      const std::vector<Event> events = read_on();
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
  std::vector<Event> read_on() {
    const auto records = value_of(store_->admin()->read_history(arguments_.instance, execution_, after_));
    if (records.empty()) return {};
    after_ = records.back().event_id;
    try {
      return decode_history(records);
    } catch (const DecodeError& error) {
      throw ClientError(ProviderError(
          ProviderErrorKind::kCorruptData,
          "the history of instance '" + name_text(arguments_.instance) + "' cannot be read: " + error.what()));
    }
  }

  void print(const Event& event) {
    if (json_) {
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
                 << event_text(event.body, arguments_.longest()) << '\n';
  }

  void wait() {
    Milliseconds interval = kFollowInterval;
    if (deadline_) {
      const Milliseconds left = *deadline_ - store_->now();
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
  const HistoryArguments& arguments_;
  ExecutionId execution_;
  EventId after_ = 0;
  bool json_;
  ExecutionId shown_execution_ = 0;
  std::optional<Timestamp> deadline_;
};

// The one that was asked for, which must be there.
ExecutionId execution_of(const Client& client, const HistoryArguments& arguments) {
  const OrchestrationStatus status = client.get_orchestration_status(arguments.instance);
  if (status.state == OrchestrationState::kNotFound) throw_no_instance(arguments.instance);
  if (arguments.execution == 0) return status.execution_id;
  const auto executions = client.list_executions(arguments.instance);
  if (std::ranges::find(executions, arguments.execution) == executions.end()) {
    throw ClientError(ClientErrorKind::kNotFound, "instance '" + name_text(arguments.instance) + "' has no execution " +
                                                      std::to_string(arguments.execution) +
                                                      "; 'perdure show' lists those that there are");
  }
  return arguments.execution;
}

void print_history(const Context& context, Provider& store, const HistoryArguments& arguments, ExecutionId execution,
                   const std::vector<Event>& history) {
  if (arguments.format == "json") {
    nlohmann::json events = nlohmann::json::array();
    for (const Event& event : history) events.push_back(event_json(event));
    print_json(context, {{"instance", arguments.instance}, {"execution_id", execution}, {"events", std::move(events)}});
  } else if (arguments.format == "text") {
    context.out << write_history_text(history);
  } else if (history.empty()) {
    context.err << "instance '" << name_text(arguments.instance) << "' has not begun: no node has taken its start\n";
  } else if (arguments.format == "timeline") {
    print_timeline(context, timeline_of(history), store.now());
  } else {
    print_event_table(context, history, arguments.longest());
  }
}

int show_history(const Context& context, HistoryArguments arguments) {
  if (context.json && !arguments.format.empty() && arguments.format != "json") {
    throw std::invalid_argument("--format " + arguments.format +
                                " and --json are two formats of one output; give one of them");
  }
  if (arguments.format.empty()) arguments.format = context.json ? "json" : "table";
  if (arguments.follow && arguments.format != "table" && arguments.format != "json") {
    throw std::invalid_argument("--follow: only --format table and json can be printed event by event");
  }
  const auto store = context.open_to_read();
  const Client client(store);
  const ExecutionId execution = execution_of(client, arguments);
  if (arguments.follow) {
    HistoryFollower(context, store, arguments, execution).run();
  } else {
    print_history(context, *store, arguments, execution, client.read_execution_history(arguments.instance, execution));
  }
  return kSuccess;
}

}  // namespace

void add_history_command(CLI::App& program, Context& context) {
  const auto arguments = std::make_shared<HistoryArguments>();
  CLI::App& command = add_store_command(program, context, "history", "Print the events of an execution",
                                        [&context, arguments] { return show_history(context, *arguments); });
  command.add_option("instance", arguments->instance, "The instance's id")->required();
  command.add_option("--execution", arguments->execution, "Which execution; else the current one")->check(at_least(1));
  command
      .add_option("--format", arguments->format,
                  "table; timeline: a bar for each operation; text: the format of stored histories; json")
      ->check(CLI::IsMember({"table", "timeline", "text", "json"}))
      ->default_str("table");
  CLI::Option* follow =
      command.add_flag("--follow", arguments->follow,
                       "Go on with events as they come, through later executions, until the instance has ended");
  command.add_option("--timeout", arguments->timeout, "Follow no longer than this, as 30s or 5m; exit status 4")
      ->needs(follow);
  command.add_flag("--full", arguments->full, "Do not cut long values");
}

}  // namespace perdure::cli
