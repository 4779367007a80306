// A node that the store does not confirm: the constructor of Runtime throws and leaves nothing behind.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/forwarding_provider.h>

namespace perdure::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const ProviderError kLost(ProviderErrorKind::kUnavailable, "the connection was lost");

// Does something after each registration of a node, or instead of it.
class DisturbedRegistration final : public testing::ForwardingProvider {
 public:
  using Register = std::function<ProviderResult<void>(const NodeInfo&)>;
  DisturbedRegistration(std::shared_ptr<Provider> inner, Register how)
      : ForwardingProvider(std::move(inner)), how_(std::move(how)) {}
  ProviderResult<void> register_node(const NodeInfo& node) override { return how_(node); }
  ProviderResult<void> remove_node(const std::string& id) override {
    if (removal_fails) return kLost;
    return ForwardingProvider::remove_node(id);
  }

  bool removal_fails = false;

 private:
  Register how_;
};

class UnconfirmedNodes : public ::testing::Test {
 protected:
  UnconfirmedNodes() {
    registry.add_orchestration("Flow", [](OrchestrationContext) -> Orchestration<int> { co_return 1; });
    options.logger = Logger(log);
    options.worker_node_id = "node";
  }
  // The text with which the constructor throws.
  template <class Failure>
  std::string failure(const std::shared_ptr<Provider>& store) const {
    try {
      const Runtime runtime(store, registry, options);
    } catch (const Failure& thrown) {
      return thrown.what();
    }
    return "it was constructed";
  }

  std::shared_ptr<Provider> inner = make_memory_provider();
  std::shared_ptr<CapturingLogSink> log = std::make_shared<CapturingLogSink>();
  Registry registry;
  RuntimeOptions options;
};

TEST_F(UnconfirmedNodes, AreRemovedAfterALostResponse) {
  const auto store = std::make_shared<DisturbedRegistration>(inner, [this](const NodeInfo& node) {
    inner->register_node(node).value();
    return kLost;
  });
  EXPECT_THAT(failure<ProviderFailure>(store), HasSubstr("the connection was lost"));
  EXPECT_THAT(Client(inner).list_nodes(), IsEmpty());
}

TEST_F(UnconfirmedNodes, AreRemovedAfterAThrow) {
  const auto store =
      std::make_shared<DisturbedRegistration>(inner, [this](const NodeInfo& node) -> ProviderResult<void> {
        inner->register_node(node).value();
        throw std::runtime_error("no response");
      });
  EXPECT_THAT(failure<ProviderFailure>(store), HasSubstr("no response"));
  EXPECT_THAT(Client(inner).list_nodes(), IsEmpty());
}

TEST_F(UnconfirmedNodes, AreNamedInTheLogIfTheyCannotBeRemoved) {
  const auto store = std::make_shared<DisturbedRegistration>(inner, [this](const NodeInfo& node) {
    inner->register_node(node).value();
    return kLost;
  });
  store->removal_fails = true;
  EXPECT_THAT(failure<ProviderFailure>(store), HasSubstr("the connection was lost"));
  EXPECT_THAT(log->find("node could not be deregistered"), SizeIs(1));
}

// The store has said that it did not take the node. The row is one of a namesake.
TEST_F(UnconfirmedNodes, LeaveTheirNamesakeIfTheyAreRefused) {
  const Runtime namesake(inner, registry, options);
  const auto store = std::make_shared<DisturbedRegistration>(inner, [](const NodeInfo&) -> ProviderResult<void> {
    return ProviderError(ProviderErrorKind::kInvalidArgument, "a node without an id");
  });
  EXPECT_THAT(failure<ProviderFailure>(store), HasSubstr("a node without an id"));
  EXPECT_THAT(Client(inner).list_nodes(), SizeIs(1));
}

}  // namespace
}  // namespace perdure::test
