// An order with two bugs that no ordinary test sees, and how simulate() finds them.
#include <iostream>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include <perdure/perdure.h>
#include <perdure/testing/simulate.h>

namespace {

using perdure::testing::SimulatedWorkload;
using perdure::testing::SimulationFindingKind;

const perdure::Activity<int(std::string)> kReserve("Reserve");  // item -> price
const perdure::Activity<void(int)> kCharge("Charge");           // price
const perdure::Activity<void(std::string)> kSendVoucher("SendVoucher");

// Stands for the bank: it outlives every process of ours.
struct Bank {
  std::map<std::string, int> payments;  // by a key that the caller chooses
  int total() const {
    int sum = 0;
    for (const auto& [key, price] : payments) sum += price;
    return sum;
  }
};

perdure::Orchestration<std::string> order(perdure::OrchestrationContext ctx, std::string item) {
  const int price = co_await ctx.schedule_activity(kReserve, item);
  co_await ctx.schedule_activity(kCharge, price);
  co_return item + " for " + std::to_string(price);
}

// Every second order earns a voucher. The bug: how many orders there were is not in the history of this one, so it
// decides anew when it is replayed.
perdure::Orchestration<std::string> order_with_voucher(perdure::OrchestrationContext ctx, std::string item) {
  static int orders = 0;
  if (++orders % 2 == 0) co_await ctx.schedule_activity(kSendVoucher, item);
  const int price = co_await ctx.schedule_activity(kReserve, item);
  co_return item + " for " + std::to_string(price);
}

class OrderSimulation : public ::testing::Test {
 protected:
  OrderSimulation() {
    registry.add_orchestration("Order", order);
    registry.add_orchestration("OrderWithVoucher", order_with_voucher);
    registry.add_activity(kReserve, [](perdure::ActivityContext&, const std::string&) { return 30; });
    registry.add_activity(kSendVoucher, [](perdure::ActivityContext&, const std::string&) {});
    workload.before_each_run([this] { bank = Bank(); });
  }

  Bank bank;
  perdure::Registry registry;
  SimulatedWorkload workload;
};

// The bug: each call is a new payment. A process that dies when the bank has the money, and nobody has written that
// down yet, pays again.
TEST_F(OrderSimulation, FindsThatAnOrderIsPaidTwice) {
  registry.add_activity(kCharge, [this](perdure::ActivityContext&, int price) {
    bank.payments["payment " + std::to_string(bank.payments.size())] = price;
  });
  workload.start("order-1", "Order", "a chair").expect([this](const perdure::Client&) {
    return bank.total() == 30 ? "" : "the customer has paid " + std::to_string(bank.total()) + " instead of 30";
  });

  const auto result = simulate(registry, workload);
  std::cout << result;
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].kind, SimulationFindingKind::kWrongEnd);
  EXPECT_EQ(result.findings[0].text, "the customer has paid 60 instead of 30");
}

// Every attempt has the same key, so the bank recognises the payment.
TEST_F(OrderSimulation, IsContentWhenThePaymentHasAKey) {
  registry.add_activity(
      kCharge, [this](perdure::ActivityContext& ctx, int price) { bank.payments[ctx.idempotency_key()] = price; });
  workload.start("order-1", "Order", "a chair").expect([this](const perdure::Client&) {
    return bank.total() == 30 ? "" : "the customer has paid " + std::to_string(bank.total()) + " instead of 30";
  });

  const auto result = simulate(registry, workload);
  EXPECT_TRUE(result.ok()) << result;
  EXPECT_FALSE(result.repeated_activities.empty());  // it ran twice all the same
}

TEST_F(OrderSimulation, FindsThatTheVoucherIsNotDeterministic) {
  workload.start("order-1", "OrderWithVoucher", "a chair");
  workload.start("order-2", "OrderWithVoucher", "a table");

  const auto result = simulate(registry, workload);
  std::cout << result;
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.findings[0].kind, SimulationFindingKind::kNondeterminism);
}

}  // namespace
