// The order of the demonstration: reserve the goods, charge the card, wait for an approval, ship, send the receipt.
#pragma once

#include <array>
#include <chrono>
#include <string>

#include <perdure/json.h>
#include <perdure/perdure.h>

namespace order_demo {

struct Order {
  std::string id;
  std::string goods;
  std::string card;
  std::string price;
};
// What the order ends with: something of every step, those before the kill and those after it.
struct Receipt {
  std::string order;
  std::string reservation;
  std::string payment;
  std::string approved_by;
  std::string parcel;
  std::string mail;
  bool operator==(const Receipt&) const = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id, goods, card, price)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, order, reservation, payment, approved_by, parcel, mail)

inline constexpr const char* kProcessOrder = "ProcessOrder";
inline constexpr const char* kReserveStock = "ReserveStock";
inline constexpr const char* kChargeCard = "ChargeCard";
inline constexpr const char* kApproved = "approved";  // an event, not an activity
inline constexpr const char* kShip = "Ship";
inline constexpr const char* kSendReceipt = "SendReceipt";

inline perdure::Orchestration<Receipt> process_order(perdure::OrchestrationContext ctx, Order order) {
  Receipt receipt;
  receipt.order = order.id;
  receipt.reservation = co_await ctx.schedule_activity<std::string>(kReserveStock, order);
  receipt.payment = co_await ctx.schedule_activity<std::string>(kChargeCard, order);

  const auto first =
      co_await perdure::select{ctx.schedule_wait<std::string>(kApproved), ctx.schedule_timer(std::chrono::hours(24))};
  if (first.index() == 1) throw perdure::OrchestrationError("nobody approved order " + order.id);
  receipt.approved_by = std::get<0>(first);

  receipt.parcel = co_await ctx.schedule_activity<std::string>(kShip, order);
  receipt.mail = co_await ctx.schedule_activity<std::string>(kSendReceipt, order);
  co_return receipt;
}

// ---- The steps as the demonstration shows them ----

struct Step {
  const char* name;  // of the activity, or of the event
  const char* title;
  const char* if_lost;  // what somebody would notice if its result were forgotten
};
inline constexpr std::array<Step, 5> kSteps{{
    {kReserveStock, "reserve the goods", "the goods are reserved a second time"},
    {kChargeCard, "charge the card", "the card is charged a second time"},
    {kApproved, "wait for an approval", "an approval is requested a second time"},
    {kShip, "ship", "a second parcel is sent"},
    {kSendReceipt, "send the receipt", "a second receipt is sent"},
}};
inline constexpr const char* kStepOfDeath = kShip;

}  // namespace order_demo
