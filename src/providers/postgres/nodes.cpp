// Who serves the store.
#include <utility>

#include "providers/node_lists.h"
#include "providers/postgres/postgres_store.h"
#include "providers/store_errors.h"

namespace perdure::postgres {

namespace {

constexpr const char* kRegisterNode =
    "INSERT INTO nodes AS n (id, engine_version, any_tag, untagged, registered_at, engine_versions, orchestrations,"
    " activities, tags, orchestration_code, activity_code)"
    " VALUES($1::text, $2::text, $3::boolean, $4::boolean, now_ms(), $5::text[], $6::text[], $7::text[], $8::text[],"
    " $9::text[], $10::text[])"
    " ON CONFLICT (id) DO UPDATE SET engine_version = excluded.engine_version, any_tag = excluded.any_tag,"
    " untagged = excluded.untagged, registered_at = excluded.registered_at, engine_versions = excluded.engine_versions,"
    " orchestrations = excluded.orchestrations, activities = excluded.activities, tags = excluded.tags,"
    " orchestration_code = excluded.orchestration_code, activity_code = excluded.activity_code";
constexpr const char* kListNodes =
    "SELECT id, engine_version, any_tag, untagged, registered_at, engine_versions, orchestrations, activities, tags,"
    " orchestration_code, activity_code FROM nodes ORDER BY id";
constexpr const char* kRemoveNode = "DELETE FROM nodes WHERE id = $1::text";

}  // namespace

ProviderResult<void> PostgresStore::register_node(const NodeInfo& node) {
  if (node.id.empty()) return node_without_id();
  return guarded<void>([&]() -> ProviderResult<void> {
    const NodeLists lists = lists_of(node);
    const Parameters parameters(node.id, node.engine_version.to_string(), node.tags.takes_any(),
                                node.tags.takes_untagged(), texts(lists.engine_versions), texts(lists.orchestrations),
                                texts(lists.activities), texts(lists.tags), texts(lists.orchestration_code),
                                texts(lists.activity_code));
    static_cast<void>(pool_.run(kRegisterNode, parameters, Repeat::kIfLost));
    return {};
  });
}

ProviderResult<void> PostgresStore::remove_node(const std::string& id) {
  return guarded<void>([&]() -> ProviderResult<void> {
    static_cast<void>(pool_.run(kRemoveNode, Parameters(id), Repeat::kIfLost));
    return {};
  });
}

ProviderResult<std::vector<NodeInfo>> PostgresStore::list_nodes() {
  using Nodes = std::vector<NodeInfo>;
  return guarded<Nodes>([&]() -> ProviderResult<Nodes> {
    Nodes nodes;
    const Rows rows = pool_.run(kListNodes, Parameters(), Repeat::kRead);
    for (int row = 0; row < rows.size(); ++row) {
      NodeInfo node;
      node.id = rows.text(row, 0);
      node.registered_at = rows.time(row, 4);
      const std::optional<SemanticVersion> engine_version = SemanticVersion::parse(rows.text(row, 1));
      const bool readable = read_lists(NodeLists{.engine_versions = rows.texts(row, 5),
                                                 .orchestrations = rows.texts(row, 6),
                                                 .activities = rows.texts(row, 7),
                                                 .tags = rows.texts(row, 8),
                                                 .orchestration_code = rows.texts(row, 9),
                                                 .activity_code = rows.texts(row, 10)},
                                       rows.boolean(row, 2), rows.boolean(row, 3), node);
      if (!engine_version || !readable) return damaged_node(node.id);
      node.engine_version = *engine_version;
      nodes.push_back(std::move(node));
    }
    return nodes;
  });
}

}  // namespace perdure::postgres
