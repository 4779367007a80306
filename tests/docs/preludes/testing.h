// What the documents about testing take for granted: an environment, a registry, an order and its activity.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <perdure/json.h>
#include <perdure/perdure.h>
#include <perdure/testing/determinism_guard.h>
#include <perdure/testing/replayer.h>
#include <perdure/testing/simulate.h>
#include <perdure/testing/test_environment.h>

using namespace std::chrono_literals;
using perdure::testing::TestEnvironment;
using perdure::testing::TestOptions;

struct Order {
  std::string id;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, id)
struct Bank {
  int total() const;
};

extern TestEnvironment env;
extern perdure::Registry registry;
extern perdure::testing::SimulatedWorkload workload;
extern const Order order;
extern Bank bank;
inline const perdure::Activity<std::string(Order)> kChargeCard("ChargeCard");
std::string read_file(const std::string& path);
