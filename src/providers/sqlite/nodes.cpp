// Who serves the store: nodes as they announce themselves, and processes as the operating system knows them.
#include "providers/sqlite/store.h"

namespace perdure::sqlite {

void Store::register_node(const NodeInfo& node) {
  remove_node(node.id);
  connection_.run("INSERT INTO nodes(id, engine_version, registered_at) VALUES(?1, ?2, ?3)", node.id,
                  node.engine_version.to_string(), now_);
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
  store_list("engine_versions", ranges);
  store_list("orchestrations", node.filter.orchestrations);
  store_list("activities", node.filter.activities);
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
  changes_.activities = true;
}

}  // namespace perdure::sqlite
