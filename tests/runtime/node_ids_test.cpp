// Who a node is to the store: no two are the same. W36
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include "runtime/node.h"

namespace perdure::test {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

constexpr const char* kNodeId = "node-[0-9a-f]{32}";

TEST(NodeIds, NoTwoNodesHaveTheSame) {
  std::set<std::string> ids;
  for (int i = 0; i < 2'000; ++i) {
    const auto node =
        runtime::make_node(RuntimeOptions(), Capabilities(), Registry(), runtime::RandomIds::from_device());
    EXPECT_EQ(node.info.id, node.id);
    EXPECT_THAT(node.id, MatchesRegex(kNodeId));
    ids.insert(node.id);
  }
  EXPECT_THAT(ids, SizeIs(2'000));
}

TEST(NodeIds, ARuntimeIsRegisteredUnderItsOwn) {
  const auto store = make_memory_provider();
  const Runtime runtime(store, Registry());
  EXPECT_THAT(runtime.node_id(), MatchesRegex(kNodeId));
  EXPECT_THAT(Client(store).list_nodes(), ElementsAre(::testing::Field(&NodeInfo::id, runtime.node_id())));
}

TEST(NodeIds, ANameOfOnesOwnIsKept) {
  RuntimeOptions options;
  options.worker_node_id = "kitchen-2";
  const auto node = runtime::make_node(options, Capabilities(), Registry(), runtime::RandomIds::from_device());
  EXPECT_EQ(node.id, "kitchen-2");
}

}  // namespace
}  // namespace perdure::test
