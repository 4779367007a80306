// Who serves the store: nodes as they announce themselves, and processes as the operating system knows them.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "providers/sqlite/queries.h"
#include "providers/sqlite/store.h"

namespace perdure::sqlite {

namespace {

// What node_capabilities.list says. The filter of a node:
constexpr std::string_view kEngineVersions = "engine_versions";  // "1.0.0 2.0.0"
constexpr std::string_view kOrchestrations = "orchestrations";
constexpr std::string_view kActivities = "activities";
constexpr std::string_view kTags = "tags";
// What it has code for:
constexpr std::string_view kOrchestrationCode = "orchestration_code";  // "1.0.0 Name"
constexpr std::string_view kActivityCode = "activity_code";

using Lists = std::map<std::string_view, std::vector<std::string>>;

Lists read_lists(Connection& connection, const std::string& node) {
  Lists lists;
  for (const std::string_view list :
       {kEngineVersions, kOrchestrations, kActivities, kTags, kOrchestrationCode, kActivityCode}) {
    Query query = connection.query(
        "SELECT value FROM node_capabilities WHERE node = ?1 AND list = ?2 ORDER BY position", node, list);
    while (query.step()) lists[list].push_back(query.text(0));
  }
  return lists;
}

// The two halves of "1.0.0 rest".
struct Halves {
  std::optional<SemanticVersion> version;
  std::string rest;
};

Halves split(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return {};
  return {.version = SemanticVersion::parse(text.substr(0, space)), .rest = text.substr(space + 1)};
}

// Nothing: the row, or one of its lists, is damaged.
std::optional<NodeInfo> read_node(Connection& connection, const Query& query) {
  NodeInfo node;
  node.id = query.text(0);
  node.registered_at = query.time(4);
  const std::optional<SemanticVersion> engine_version = stored_version(query.text(1));
  if (!engine_version) return std::nullopt;
  node.engine_version = *engine_version;

  Lists lists = read_lists(connection, node.id);
  for (const std::string& range : lists[kEngineVersions]) {
    const Halves halves = split(range);
    const std::optional<SemanticVersion> max = SemanticVersion::parse(halves.rest);
    if (!halves.version || !max) return std::nullopt;
    node.filter.engine_versions.push_back({*halves.version, *max});
  }
  for (const std::string& code : lists[kOrchestrationCode]) {
    Halves halves = split(code);
    if (!halves.version) return std::nullopt;
    node.orchestrations.push_back({.name = std::move(halves.rest), .version = *halves.version});
  }
  node.filter.orchestrations = std::move(lists[kOrchestrations]);
  node.filter.activities = std::move(lists[kActivities]);
  node.activities = std::move(lists[kActivityCode]);

  std::vector<std::string>& tags = lists[kTags];
  const bool untagged = query.integer(3) != 0;
  if (tags.size() > TagFilter::kMaxTags) return std::nullopt;
  if (query.integer(2) != 0) {
    node.tags = TagFilter::any();
  } else if (tags.empty()) {
    node.tags = untagged ? TagFilter::untagged() : TagFilter::none();
  } else {
    node.tags = untagged ? TagFilter::untagged_and(std::move(tags)) : TagFilter::tags(std::move(tags));
  }
  return node;
}

}  // namespace

ProviderResult<std::vector<NodeInfo>> list_nodes(Connection& connection) {
  std::vector<NodeInfo> nodes;
  Query query = connection.query("SELECT id, engine_version, any_tag, untagged, registered_at FROM nodes ORDER BY id");
  while (query.step()) {
    std::optional<NodeInfo> node = read_node(connection, query);
    if (!node) {
      return ProviderError(ProviderErrorKind::kCorruptData,
                           "what node '" + query.text(0) + "' has announced is damaged; restart it, or remove it");
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
  std::vector<std::string> ranges;
  ranges.reserve(node.filter.engine_versions.size());
  for (const VersionRange& range : node.filter.engine_versions) {
    ranges.push_back(range.min.to_string() + " " + range.max.to_string());
  }
  std::vector<std::string> code;
  code.reserve(node.orchestrations.size());
  for (const OrchestrationVersion& orchestration : node.orchestrations) {
    code.push_back(orchestration.version.to_string() + " " + orchestration.name);
  }
  store_list(kEngineVersions, ranges);
  store_list(kOrchestrations, node.filter.orchestrations);
  store_list(kActivities, node.filter.activities);
  store_list(kTags, node.tags.listed());
  store_list(kOrchestrationCode, code);
  store_list(kActivityCode, node.activities);
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

}  // namespace perdure::sqlite
