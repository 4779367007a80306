// Who serves the store: nodes as they announce themselves, and processes as the operating system knows them.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/node_lists.h"
#include "providers/sqlite/queries.h"
#include "providers/sqlite/store.h"
#include "providers/store_errors.h"

namespace perdure::sqlite {

namespace {

// What node_capabilities.list says: a member of NodeLists.
constexpr std::string_view kEngineVersions = "engine_versions";
constexpr std::string_view kOrchestrations = "orchestrations";
constexpr std::string_view kActivities = "activities";
constexpr std::string_view kTags = "tags";
constexpr std::string_view kOrchestrationCode = "orchestration_code";
constexpr std::string_view kActivityCode = "activity_code";

std::vector<std::string> read_list(Connection& connection, const std::string& node, std::string_view list) {
  std::vector<std::string> values;
  Query query = connection.query("SELECT value FROM node_capabilities WHERE node = ?1 AND list = ?2 ORDER BY position",
                                 node, list);
  while (query.step()) values.push_back(query.text(0));
  return values;
}

// Nothing: the row, or one of its lists, is damaged.
std::optional<NodeInfo> read_node(Connection& connection, const Query& query) {
  NodeInfo node;
  node.id = query.text(0);
  node.registered_at = query.time(4);
  const std::optional<SemanticVersion> engine_version = stored_version(query.text(1));
  if (!engine_version) return std::nullopt;
  node.engine_version = *engine_version;
  const auto list = [&](std::string_view name) { return read_list(connection, node.id, name); };
  const NodeLists lists{.engine_versions = list(kEngineVersions),
                        .orchestrations = list(kOrchestrations),
                        .activities = list(kActivities),
                        .tags = list(kTags),
                        .orchestration_code = list(kOrchestrationCode),
                        .activity_code = list(kActivityCode)};
  if (!read_lists(lists, query.integer(2) != 0, query.integer(3) != 0, node)) return std::nullopt;
  return node;
}

}  // namespace

ProviderResult<std::vector<NodeInfo>> list_nodes(Connection& connection) {
  std::vector<NodeInfo> nodes;
  Query query = connection.query("SELECT id, engine_version, any_tag, untagged, registered_at FROM nodes ORDER BY id");
  while (query.step()) {
    std::optional<NodeInfo> node = read_node(connection, query);
    if (!node) {
      return damaged_node(query.text(0));
    }
    nodes.push_back(*std::move(node));
  }
  return nodes;
}

void Store::register_node(const NodeInfo& node) {
  remove_node(node.id);
  connection_.run("INSERT INTO nodes(id, engine_version, any_tag, untagged, registered_at) VALUES(?1, ?2, ?3, ?4, ?5)",
                  node.id, node.engine_version.to_string(), node.tags.takes_any(), node.tags.takes_untagged(), now_);
  const auto store_list = [&](std::string_view list, const std::vector<std::string>& values) {
    for (std::size_t position = 0; position < values.size(); ++position) {
      connection_.run("INSERT INTO node_capabilities(node, list, position, value) VALUES(?1, ?2, ?3, ?4)", node.id,
                      list, std::uint64_t{position}, values[position]);
    }
  };
  const NodeLists lists = lists_of(node);
  store_list(kEngineVersions, lists.engine_versions);
  store_list(kOrchestrations, lists.orchestrations);
  store_list(kActivities, lists.activities);
  store_list(kTags, lists.tags);
  store_list(kOrchestrationCode, lists.orchestration_code);
  store_list(kActivityCode, lists.activity_code);
}

void Store::remove_node(const std::string& id) {
  connection_.run("DELETE FROM nodes WHERE id = ?1", id);
  connection_.run("DELETE FROM node_capabilities WHERE node = ?1", id);
}

void Store::release_process(std::int64_t process) {
  std::vector<std::int64_t> keys;
  {
    Query query = connection_.query("SELECT key FROM instances WHERE process = ?1", process);
    while (query.step()) keys.push_back(query.integer(0));
  }
  for (const std::int64_t key : keys) {
    InstanceRow row = load_instance(connection_, key).value();
    const InstanceRow before = row;
    row.schedule.token.reset();
    row.schedule.process.reset();
    row.schedule.holder.reset();
    row.progress.locked_until.reset();
    finish(row, before);
  }
  connection_.run("UPDATE activities SET token = NULL, process = NULL, ready_at = min(ready_at, ?2) WHERE process = ?1",
                  process, now_);
  connection_.run("UPDATE sessions SET locked_until = min(locked_until, ?2), process = NULL WHERE process = ?1",
                  process, now_);
  connection_.run("DELETE FROM processes WHERE id = ?1", process);
  changes_.instances = true;
  worth_a_look();
}

void Store::forget_process_without_locks(std::int64_t process) {
  connection_.run(
      "DELETE FROM processes WHERE id = ?1"
      " AND NOT EXISTS (SELECT 1 FROM instances WHERE process = ?1 AND locked_until > ?2)"
      " AND NOT EXISTS (SELECT 1 FROM activities WHERE process = ?1 AND ready_at > ?2)"
      " AND NOT EXISTS (SELECT 1 FROM sessions WHERE process = ?1 AND locked_until > ?2)",
      process, now_);
}

}  // namespace perdure::sqlite
