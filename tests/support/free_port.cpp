#include "support/free_port.h"

#include <cstdint>
#include <random>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace perdure::test {

namespace {

bool can_listen_on(int port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = ::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(listener);
  return free;
}

}  // namespace

int free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> ports(10'000, 32'000);
  for (int tries = 0; tries < 1'000; ++tries) {
    const int port = ports(random);
    if (can_listen_on(port)) return port;
  }
  throw std::runtime_error("no port between 10000 and 32000 is free");
}

}  // namespace perdure::test
