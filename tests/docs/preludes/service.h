// What the documents take for granted: a program that has a store, code, a client and a runtime. Only declared, for
// blocks are never linked.
#pragma once

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include <perdure/json.h>
#include <perdure/perdure.h>

using namespace std::chrono_literals;

extern const std::shared_ptr<perdure::Provider> store;
extern perdure::Registry registry;
extern const perdure::Client client;
perdure::Registry my_registry();
std::string read_file(const std::string& path);
