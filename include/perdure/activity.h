// Activity<Out(In)>: an activity's name together with its types, so that both ends are checked by the compiler.
//
//   inline const perdure::Activity<Payment(Order)> kChargeCard{"ChargeCard"};
//   Payment payment = co_await ctx.schedule_activity(kChargeCard, order);
#pragma once

#include <string>
#include <utility>

namespace perdure {

template <class Signature>
class Activity;

template <class Out, class In>
class Activity<Out(In)> {
 public:
  using output_type = Out;
  using input_type = In;
  explicit Activity(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

template <class Out>
class Activity<Out()> {
 public:
  using output_type = Out;
  explicit Activity(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

}  // namespace perdure
