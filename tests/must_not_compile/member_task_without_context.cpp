// expect: a perdure::Task takes its parameters by value
#include <perdure/perdure.h>

class Shop {
 public:
  perdure::Task<int> buy(int what) { co_return what; }
};
