// expect: a perdure::Task takes its parameters by value
#include <string>

#include <perdure/perdure.h>

class Shop {
 public:
  perdure::Task<int> buy(perdure::OrchestrationContext, const std::string&) { co_return 1; }
};
