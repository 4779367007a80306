#include <perdure/client.h>
#include "client/request_checks.h"
#include "client/store_result.h"
#include "model/event_codec.h"

namespace perdure {

namespace {

std::vector<std::string> all_ids(ProviderAdmin& admin, InstanceFilter filter) {
  constexpr std::size_t kPage = 1'000;
  std::vector<std::string> ids;
  InstanceQuery query{.filter = std::move(filter), .limit = kPage, .cursor = {}};
  do {
    InstancePage page = value_of(admin.list_instances(query));
    for (InstanceInfo& info : page.instances) ids.push_back(std::move(info.id));
    query.cursor = std::move(page.next);
  } while (!query.cursor.empty());
  return ids;
}

}  // namespace

bool Client::has_management_capability() const noexcept {
  return store_ && store_->admin() != nullptr;
}

ProviderAdmin& Client::admin() const {
  ProviderAdmin* found = store().admin();
  if (!found) {
    throw ClientError(ClientErrorKind::kNotSupported,
                      "the provider '" + std::string(store().name()) + "' has no admin interface");
  }
  return *found;
}

void Client::check_filter(const InstanceFilter& filter) const {
  perdure::check_filter(filter, options_.limits);
}

InstancePage Client::list_instances(const InstanceQuery& query) const {
  check_filter(query.filter);
  return value_of(admin().list_instances(query));
}

std::vector<std::string> Client::list_all_instances() const {
  return all_ids(admin(), {});
}

std::vector<std::string> Client::list_instances_by_status(ExecutionStatus status) const {
  InstanceFilter filter;
  filter.statuses = {status};
  return all_ids(admin(), std::move(filter));
}

InstanceInfo Client::get_instance_info(const std::string& instance) const {
  check_name("an instance id", instance);
  return value_of(admin().instance_info(instance));
}

ExecutionInfo Client::get_execution_info(const std::string& instance, ExecutionId execution) const {
  check_name("an instance id", instance);
  return value_of(admin().execution_info(instance, execution));
}

std::vector<ExecutionId> Client::list_executions(const std::string& instance) const {
  check_name("an instance id", instance);
  return value_of(admin().list_executions(instance));
}

std::vector<Event> Client::read_execution_history(const std::string& instance,
                                                  std::optional<ExecutionId> execution) const {
  check_name("an instance id", instance);
  const auto records = value_of(admin().read_history(instance, execution));
  try {
    return decode_history(records);
  } catch (const DecodeError& error) {
    throw ClientError(ProviderError(ProviderErrorKind::kCorruptData,
                                    "the history of instance '" + instance + "' cannot be read: " + error.what()));
  }
}

InstanceTree Client::get_instance_tree(const std::string& instance) const {
  check_name("an instance id", instance);
  return value_of(admin().instance_tree(instance));
}

SystemMetrics Client::get_system_metrics() const {
  return value_of(admin().system_metrics());
}

QueueDepths Client::get_queue_depths() const {
  return value_of(admin().queue_depths());
}

std::vector<NodeInfo> Client::list_nodes() const {
  return value_of(admin().list_nodes());
}

ActivityPage Client::list_activities(const ActivityQuery& query) const {
  if (query.instance) check_name("an instance id", *query.instance);
  return value_of(admin().list_activities(query));
}

// ---- deleting ------------------------------------------------------------------------------------------------------

namespace {

void log_deleted(const Logger& logger, const std::string& what, const DeleteResult& result) {
  logger.info("instances deleted", {{"what", what},
                                    {"instances", std::to_string(result.instances)},
                                    {"executions", std::to_string(result.executions)},
                                    {"events", std::to_string(result.events)},
                                    {"messages", std::to_string(result.messages)}});
}

void log_pruned(const Logger& logger, const std::string& what, const PruneResult& result) {
  logger.info("executions pruned", {{"what", what},
                                    {"instances", std::to_string(result.instances)},
                                    {"executions", std::to_string(result.executions)},
                                    {"events", std::to_string(result.events)}});
}

}  // namespace

DeleteResult Client::delete_instance(const std::string& instance, bool force) const {
  check_name("an instance id", instance);
  const DeleteResult result = value_of(admin().delete_instance(instance, force));
  log_deleted(options_.logger, instance, result);
  return result;
}

DeleteResult Client::delete_instance_bulk(const InstanceFilter& filter, std::size_t limit) const {
  check_filter(filter);
  const DeleteResult result = value_of(admin().delete_matching(filter, limit));
  log_deleted(options_.logger, "instances that match the filter", result);
  return result;
}

PruneResult Client::prune_executions(const std::string& instance, const PruneOptions& options) const {
  check_name("an instance id", instance);
  const PruneResult result = value_of(admin().prune_executions(instance, options));
  log_pruned(options_.logger, instance, result);
  return result;
}

PruneResult Client::prune_executions_bulk(const InstanceFilter& filter, const PruneOptions& options,
                                          std::size_t limit) const {
  check_filter(filter);
  const PruneResult result = value_of(admin().prune_matching(filter, options, limit));
  log_pruned(options_.logger, "instances that match the filter", result);
  return result;
}

}  // namespace perdure
