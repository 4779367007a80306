// A trial subscription: thirty days are free, then the card is charged, unless the customer cancels before.
#pragma once

#include <chrono>
#include <string>

#include <perdure/perdure.h>

inline const perdure::Activity<void(std::string)> kSendMail("SendMail");
inline const perdure::Activity<std::string(std::string)> kChargeCard("ChargeCard");  // customer -> receipt

inline perdure::Orchestration<std::string> trial(perdure::OrchestrationContext ctx, std::string customer) {
  using namespace std::chrono_literals;
  co_await ctx.schedule_activity(kSendMail, "welcome, " + customer);
  const auto first = co_await perdure::select{ctx.schedule_wait<void>("cancelled"), ctx.schedule_timer(30 * 24h)};
  if (first.index() == 0) co_return std::string("cancelled");

  perdure::RetryPolicy daily(4);
  daily.backoff(perdure::Backoff::fixed(24h));
  co_return co_await ctx.schedule_activity(kChargeCard, customer, perdure::ActivityOptions().retry(daily));
}

inline perdure::Registry trial_workflows() {
  perdure::Registry registry;
  registry.add_orchestration("Trial", trial);
  return registry;
}
