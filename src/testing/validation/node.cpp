// Nodes: who serves the store, as they said themselves.
#include <vector>

#include "testing/validation/scene.h"
#include "testing/validation/suite.h"

namespace perdure::testing {

namespace {

NodeInfo node(const std::string& id) {
  NodeInfo info;
  info.id = id;
  info.engine_version = SemanticVersion{1, 2, 3};
  return info;
}

void nodes_are_listed_by_id(ProviderFactory& factory) {
  Scene scene(factory);
  expect(take(scene.admin().list_nodes()).empty(), "an empty store has nodes");
  for (const std::string id : {"b", "c", "a"}) take(scene.store().register_node(node(id)));
  const std::vector<NodeInfo> nodes = take(scene.admin().list_nodes());
  expect_equal(nodes.size(), std::size_t{3}, "nodes");
  expect_equal(nodes[0].id, std::string("a"), "the first");
  expect_equal(nodes[1].id, std::string("b"), "the second");
  expect_equal(nodes[2].id, std::string("c"), "the third");
}

void a_node_is_what_it_said(ProviderFactory& factory) {
  Scene scene(factory);
  NodeInfo full = node("a");
  full.filter.engine_versions = {{SemanticVersion{1, 0, 0}, SemanticVersion{1, 9, 99}},
                                 {SemanticVersion{3, 0, 0}, SemanticVersion{3, 0, 0}}};
  full.filter.orchestrations = {"Flow", "with, comma and \"quotes\""};
  full.filter.activities = {"Work", ""};
  full.tags = TagFilter::untagged_and({"gpu", "Größe 1"});
  full.orchestrations = {{.name = "Flow", .version = SemanticVersion{2, 0, 10}},
                         {.name = "Flow", .version = SemanticVersion{1, 0, 0}},
                         {.name = "a name, with 'spaces' and 1.2.3", .version = SemanticVersion{0, 0, 0}},
                         {.name = "", .version = SemanticVersion{1, 0, 0}}};
  full.activities = {"Work", "", "Work", "Charge a card"};
  // The store knows better.
  full.registered_at = Timestamp(Milliseconds{1});
  take(scene.store().register_node(full));
  full.registered_at = scene.now();
  const std::vector<NodeInfo> nodes = take(scene.admin().list_nodes());
  expect_equal(nodes.size(), std::size_t{1}, "nodes");
  expect(nodes.front() == full, "the node is another");
}

void every_tag_filter_can_be_announced(ProviderFactory& factory) {
  Scene scene(factory);
  for (const TagFilter& tags :
       {TagFilter::untagged(), TagFilter::any(), TagFilter::none(), TagFilter::tags({"b", "a"}),
        TagFilter::tags({"1", "2", "3", "4", "5"}), TagFilter::untagged_and({"a"}), TagFilter::tags({""})}) {
    NodeInfo said = node("a");
    said.tags = tags;
    take(scene.store().register_node(said));
    const std::vector<NodeInfo> nodes = take(scene.admin().list_nodes());
    expect_equal(nodes.size(), std::size_t{1}, "nodes");
    expect(nodes.front().tags == tags, "the node has other tags");
  }
}

void a_node_replaces_what_it_said_before(ProviderFactory& factory) {
  Scene scene(factory);
  NodeInfo before = node("a");
  before.filter.activities = {"Work"};
  before.tags = TagFilter::tags({"gpu"});
  before.orchestrations = {{.name = "Flow", .version = SemanticVersion{1, 0, 0}}};
  before.activities = {"Work", "Charge"};
  take(scene.store().register_node(before));
  take(scene.store().register_node(node("b")));
  scene.advance(Milliseconds{1'000});
  NodeInfo after = node("a");
  after.engine_version = SemanticVersion{2, 0, 0};
  after.filter.orchestrations = {"Flow"};
  after.activities = {"Ship"};
  take(scene.store().register_node(after));
  after.registered_at = scene.now();
  const std::vector<NodeInfo> nodes = take(scene.admin().list_nodes());
  expect_equal(nodes.size(), std::size_t{2}, "nodes");
  expect(nodes.front() == after, "the node is another");
  expect_equal(nodes.back().registered_at, scene.now() - Milliseconds{1'000}, "when the other one was registered");
}

void a_node_can_be_removed(ProviderFactory& factory) {
  Scene scene(factory);
  take(scene.store().register_node(node("a")));
  take(scene.store().register_node(node("b")));
  take(scene.store().remove_node("a"));
  take(scene.store().remove_node("a"));
  take(scene.store().remove_node("unknown"));
  const std::vector<NodeInfo> nodes = take(scene.admin().list_nodes());
  expect_equal(nodes.size(), std::size_t{1}, "nodes");
  expect_equal(nodes.front().id, std::string("b"), "the one that is left");
}

}  // namespace

ValidationTests node_tests() {
  return {
      {"node", "nodes_are_listed_by_id", &nodes_are_listed_by_id},
      {"node", "a_node_is_what_it_said", &a_node_is_what_it_said},
      {"node", "every_tag_filter_can_be_announced", &every_tag_filter_can_be_announced},
      {"node", "a_node_replaces_what_it_said_before", &a_node_replaces_what_it_said_before},
      {"node", "a_node_can_be_removed", &a_node_can_be_removed},
  };
}

}  // namespace perdure::testing
