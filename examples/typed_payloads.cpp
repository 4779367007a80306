// Your own types as inputs and results: through nlohmann-json, or through a codec that you write.
//
// An Order and a Receipt are structs with a line of macro each. Money has a codec of its own, which keeps it as
// "1250 ct". Activities have names with types, so that the compiler checks both ends; what comes from outside is
// checked when it is read, and a wrong type is an error that says so.
//
// It prints:
//   stored: {"customer":"Ada","pieces":3,"total":1250}
//   read: Ada pays 1250 ct for 3 pieces
//   42 as an order: ...
//   a receipt as a number: the output of orchestration 'Checkout' cannot be decoded as the requested type: ...
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <perdure/json.h>
#include <perdure/perdure.h>

namespace {

using namespace std::chrono_literals;

// ---- types that nlohmann-json converts ------------------------------------------------------------------------------

struct Item {
  std::string name;
  int pieces = 0;
  int cents = 0;
};
struct Order {
  std::string customer;
  std::vector<Item> items;
};
struct Receipt {
  std::string customer;
  int pieces = 0;
  int total = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Item, name, pieces, cents)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, customer, items)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Receipt, customer, pieces, total)

// ---- a type with a codec of its own ---------------------------------------------------------------------------------

struct Money {
  int cents = 0;
};

}  // namespace

template <>
struct perdure::Codec<Money> {
  static std::string encode(const Money& money) {
    return Codec<std::string>::encode(std::to_string(money.cents) + " ct");
  }
  // Whatever it throws is the error of who reads.
  static Money decode(std::string_view text) {
    const std::string amount = Codec<std::string>::decode(text);
    if (!amount.ends_with(" ct")) throw std::invalid_argument("'" + amount + "' is no amount like '1250 ct'");
    return {Codec<int>::decode(amount.substr(0, amount.size() - 3))};
  }
};

namespace {

// ---- the workflow ---------------------------------------------------------------------------------------------------

const perdure::Activity<Money(Order)> kPrice{"Price"};  // schedule_activity(kPrice, 42) does not compile

perdure::Orchestration<Receipt> checkout(perdure::OrchestrationContext ctx, Order order) {
  const Money price = co_await ctx.schedule_activity(kPrice, order);
  Receipt receipt{order.customer, 0, price.cents};
  for (const Item& item : order.items) receipt.pieces += item.pieces;
  co_return receipt;
}

Money price_of(perdure::ActivityContext&, const Order& order) {
  Money total;
  for (const Item& item : order.items) total.cents += item.pieces * item.cents;
  return total;
}

// Says what was thrown; to throw nothing would be wrong.
template <class Call>
void expect_refusal(const char* what, Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", what, error.what());
    return;
  }
  throw std::runtime_error(std::string(what) + " was not refused");
}

int run() {
  perdure::Registry registry;
  registry.add_orchestration("Checkout", checkout);
  registry.add_activity(kPrice, price_of);

  const auto store = perdure::make_memory_provider();
  const perdure::Runtime runtime(store, registry);
  const perdure::Client client(store);
  client.start_orchestration("order-1", "Checkout", Order{"Ada", {{"pen", 2, 125}, {"book", 1, 1'000}}});
  const auto status = client.wait_for_orchestration("order-1", 30s);
  const auto receipt = status.result<Receipt>();
  std::printf("stored: %s\n", status.output.value_or("nothing").c_str());
  std::printf("read: %s pays %d ct for %d pieces\n", receipt.customer.c_str(), receipt.total, receipt.pieces);
  if (receipt.total != 1'250) throw std::runtime_error("the total should be 1250 ct");

  // Neither takes anything down: a wrong input fails its own instance, a wrong read throws at the reader.
  client.start_orchestration("order-2", "Checkout", 42);
  const auto wrong = client.wait_for_orchestration("order-2", 30s);
  expect_refusal("42 as an order", [&] { return wrong.result<Receipt>(); });
  expect_refusal("a receipt as a number", [&] { return status.result<int>(); });
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "typed_payloads: %s\n", error.what());
    return 1;
  }
}
