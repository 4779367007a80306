// A node of the random lifecycles that is a process: works until it is killed or its standard input is closed.
//   life_node_child <store> <schema> fast|plain|uncached <folder of the ledger>
#include <cstdio>
#include <exception>
#include <string>

#include <poll.h>
#include <unistd.h>

#include "lifecycles/life_nodes.h"
#include "lifecycles/random_life.h"

int main(int argc, char** argv) {
  using namespace perdure;
  if (argc != 5) {
    std::fprintf(stderr, "this program belongs to the tests\n");
    return 2;
  }
  try {
    const Logger logger(std::make_shared<test::ProblemSink>(true));
    const test::LifeNodeKind kind = test::parse_life_node_kind(argv[3]);
    Runtime runtime(test::open_life_store({argv[1], argv[2]}, logger),
                    test::life_registry(kind, test::LifeLedger(argv[4])), test::life_node_options(kind, false, logger));
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (::poll(&input, 1, -1) < 0) {
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the node ends: %s\n", error.what());
    return 1;
  }
}
