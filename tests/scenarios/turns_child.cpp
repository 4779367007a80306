// A TurnsNode in a process of its own: turns_child <store>. Carries out commands from standard input, a line each, and
// confirms each with a line.
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "scenarios/turns_node.h"

namespace {

void serve(const std::string& url) {
  perdure::test::TurnsNode node(perdure::test::open_without_polls(url));
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    std::string instance;
    words >> command >> instance;
    node.carry_out(command, instance);
    std::cout << "ok" << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    serve(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
