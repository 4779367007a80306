// What nodes announced, as it lies in the file: damage is told, not shown as something else.
#include <string>

#include <gtest/gtest.h>

#include "providers/sqlite_scene.h"

namespace perdure::testing {
namespace {

NodeInfo some_node() {
  NodeInfo node;
  node.id = "a";
  node.engine_version = SemanticVersion{1, 2, 3};
  node.filter.engine_versions = {{SemanticVersion{1, 0, 0}, SemanticVersion{2, 0, 0}}};
  node.tags = TagFilter::tags({"t1", "t2", "t3", "t4", "t5"});
  node.orchestrations = {{.name = "Flow", .version = SemanticVersion{1, 0, 0}}};
  return node;
}

TEST(SqliteNodes, DamageIsTold) {
  const TemporaryFolder folder;
  for (const char* damage :
       {"UPDATE nodes SET engine_version = '1.2'",
        "UPDATE node_capabilities SET value = '1.0.0' WHERE list = 'engine_versions'",
        "UPDATE node_capabilities SET value = '1.0.0 2.0' WHERE list = 'engine_versions'",
        "UPDATE node_capabilities SET value = '1.0.0' WHERE list = 'orchestration_code'",
        "UPDATE node_capabilities SET value = 'x Flow' WHERE list = 'orchestration_code'",
        "INSERT INTO node_capabilities(node, list, position, value) VALUES('a', 'tags', 5, 't6')"}) {
    SqliteFile file(folder.file("store.db"));
    Scene scene(file);
    take(scene.store().register_node(some_node()));
    EXPECT_EQ(take(scene.admin().list_nodes()).size(), 1U);
    open_plainly(file.path()).execute(damage);
    const ProviderResult<std::vector<NodeInfo>> nodes = scene.admin().list_nodes();
    ASSERT_FALSE(nodes.has_value()) << damage;
    EXPECT_EQ(nodes.error().kind(), ProviderErrorKind::kCorruptData);
    EXPECT_NE(nodes.error().message().find("'a'"), std::string::npos) << nodes.error().message();
    // As the text says.
    take(scene.store().register_node(some_node()));
    EXPECT_EQ(take(scene.admin().list_nodes()).size(), 1U);
  }
}

}  // namespace
}  // namespace perdure::testing
