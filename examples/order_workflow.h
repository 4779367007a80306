// An order: charge the card, wait a day for somebody's approval, ship; and give the money back where that fails.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include <perdure/json.h>
#include <perdure/perdure.h>

struct Order {
  std::string id;
  std::string card;
  int cents = 0;
};
struct Payment {
  std::string transaction;
  int cents = 0;
};
struct Approval {
  std::string by;
};
struct Shipment {
  std::string tracking;
};
struct Receipt {
  std::string order;
  std::string status;
  std::string details;

  static Receipt shipped(const Order& order, const Shipment& shipment) {
    return {order.id, "shipped", shipment.tracking};
  }
  static Receipt refunded(const Order& order, std::string why) { return {order.id, "refunded", std::move(why)}; }
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, card, cents)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Payment, transaction, cents)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Approval, by)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Shipment, tracking)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, order, status, details)

inline perdure::Orchestration<Receipt> process_order(perdure::OrchestrationContext ctx, Order order) {
  const Payment payment = co_await ctx.schedule_activity<Payment>("ChargeCard", order);  // throws ActivityError

  // Whichever comes first in history wins, and a replay sees the same winner.
  const auto first =
      co_await perdure::select{ctx.schedule_wait<Approval>("approved"), ctx.schedule_timer(std::chrono::hours(24))};
  if (first.index() == 1) {
    co_await ctx.schedule_activity<void>("Refund", payment);
    throw perdure::OrchestrationError("nobody approved order " + order.id);
  }

  // A failure as a value, because C++ allows no co_await in a catch block.
  const auto shipment = co_await ctx.schedule_activity<Shipment>("Ship", order).as_result();
  if (!shipment) {
    co_await ctx.schedule_activity<void>("Refund", payment);
    co_return Receipt::refunded(order, shipment.error().message());
  }
  co_return Receipt::shipped(order, *shipment);
}
