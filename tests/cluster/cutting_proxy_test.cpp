// The proxy itself, between a server that answers what it gets and a client that waits for it.
#include "support/cutting_proxy.h"

#include <array>
#include <mutex>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/eventually.h"

namespace perdure::test {
namespace {

sockaddr_in loopback_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Sends back what it gets, to one client after the other.
class Echo {
 public:
  Echo() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = loopback_address(0);
    socklen_t size = sizeof(address);
    auto* pointer = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, pointer, size) != 0 || ::listen(listener_, SOMAXCONN) != 0 ||
        ::getsockname(listener_, pointer, &size) != 0) {
      throw std::runtime_error("the server of the test cannot listen");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;
  ~Echo() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  [[nodiscard]] std::string received() const {
    const std::scoped_lock lock(mutex_);
    return received_;
  }

 private:
  void run() {
    while (true) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      std::array<char, 4096> bytes{};
      for (ssize_t count = 1; count > 0;) {
        count = ::recv(client, bytes.data(), bytes.size(), 0);
        if (count <= 0) break;
        {
          const std::scoped_lock lock(mutex_);
          received_.append(bytes.data(), static_cast<std::size_t>(count));
        }
        count = ::send(client, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL);
      }
      ::close(client);
    }
  }

  int listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::string received_;
  std::thread thread_;
};

class Connected {
 public:
  explicit Connected(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = loopback_address(port);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      throw std::runtime_error("the client of the test cannot connect");
    }
  }
  Connected(const Connected&) = delete;
  Connected& operator=(const Connected&) = delete;
  ~Connected() { ::close(socket_); }

  void send(const std::string& text) const { ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  // So many bytes, or what came before the connection was cut.
  [[nodiscard]] std::string receive(std::size_t size) const {
    std::string text;
    std::array<char, 4096> bytes{};
    while (text.size() < size) {
      const ssize_t count = ::recv(socket_, bytes.data(), std::min(bytes.size(), size - text.size()), 0);
      if (count <= 0) break;
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
  [[nodiscard]] std::string ask(const std::string& text) const {
    send(text);
    return receive(text.size());
  }

 private:
  int socket_;
};

class Proxy : public ::testing::Test {
 protected:
  Echo echo;
  CuttingProxy proxy{echo.port()};
};

TEST_F(Proxy, PassesEverythingBothWays) {
  const Connected client(proxy.port());
  const std::string much(3'000'000, 'x');
  std::thread sender([&] { client.send(much); });
  EXPECT_EQ(client.receive(much.size()), much);
  sender.join();
  EXPECT_EQ(client.ask("hello"), "hello");
  EXPECT_EQ(proxy.connections(), 1U);
  EXPECT_EQ(proxy.cuts(), 0U);
}

TEST_F(Proxy, CutsEverythingOnCommandAndTakesNewConnections) {
  const Connected first(proxy.port());
  EXPECT_EQ(first.ask("a"), "a");
  proxy.cut_all();
  EXPECT_EQ(proxy.cuts(), 1U);
  EXPECT_EQ(first.ask("b"), "");
  const Connected second(proxy.port());
  EXPECT_EQ(second.ask("c"), "c");
  EXPECT_EQ(echo.received(), "ac");
  EXPECT_EQ(proxy.connections(), 2U);
}

TEST_F(Proxy, LosesAnswersToRequestsThatArrived) {
  const Connected client(proxy.port());
  EXPECT_EQ(client.ask("a"), "a");
  proxy.lose_answers(1, 100);
  EXPECT_EQ(client.ask("commit"), "");
  EXPECT_EQ(echo.received(), "acommit");
  EXPECT_EQ(proxy.lost_answers(), 1U);
  EXPECT_EQ(proxy.cuts(), 1U);
  proxy.pass_everything();
  EXPECT_EQ(Connected(proxy.port()).ask("b"), "b");
}

TEST_F(Proxy, LosesTheAnswerToOneRequest) {
  const Connected client(proxy.port());
  proxy.lose_answer_to("commit");
  EXPECT_EQ(client.ask("a"), "a");
  EXPECT_EQ(client.ask("commit 1"), "");
  EXPECT_EQ(Connected(proxy.port()).ask("commit 2"), "commit 2") << "only once";
  EXPECT_EQ(echo.received(), "acommit 1commit 2");
  EXPECT_EQ(proxy.lost_answers(), 1U);
}

TEST_F(Proxy, IsSilentFromARequestOnUntilItPassesEverything) {
  const Connected first(proxy.port());
  proxy.go_silent_at("commit");
  EXPECT_EQ(first.ask("a"), "a");
  first.send("commit");
  ASSERT_TRUE(eventually([&] { return proxy.is_silent(); }));
  const Connected second(proxy.port());  // is accepted
  second.send("b");
  EXPECT_EQ(echo.received(), "a");
  proxy.pass_everything();
  EXPECT_EQ(first.receive(6), "commit");
  EXPECT_EQ(proxy.cuts(), 0U);
}

TEST_F(Proxy, IsSilentFromACountedRequestOn) {
  const Connected client(proxy.port());
  proxy.go_silent_at_request(2);
  EXPECT_EQ(client.ask("a"), "a");
  client.send("b");
  ASSERT_TRUE(eventually([&] { return proxy.is_silent(); }));
  proxy.cut_all();
  EXPECT_EQ(client.receive(1), "");
  EXPECT_EQ(echo.received(), "a");
}

TEST_F(Proxy, CutsInTheMidstOfARequest) {
  proxy.cut_after_bytes(1, 3, 3);
  const Connected client(proxy.port());
  EXPECT_EQ(client.ask("request"), "");
  EXPECT_EQ(proxy.cuts(), 1U);
  ASSERT_TRUE(eventually([&] { return !echo.received().empty(); }));
  EXPECT_EQ(echo.received(), "req");
}

TEST_F(Proxy, CutsInTheMidstOfAnAnswer) {
  proxy.cut_after_bytes(1, 10, 10);
  const Connected client(proxy.port());
  EXPECT_EQ(client.ask("request"), "req");
  EXPECT_EQ(proxy.cuts(), 1U);
}

TEST_F(Proxy, ANewRuleHoldsForConnectionsThatAreThere) {
  const Connected client(proxy.port());
  EXPECT_EQ(client.ask("before"), "before");
  proxy.cut_after_bytes(1, 4, 4);
  EXPECT_EQ(client.ask("ab"), "ab");
  EXPECT_EQ(client.ask("cd"), "");
  EXPECT_EQ(echo.received(), "beforeab");
}

TEST(ProxyWithoutTarget, RefusesWhomItCannotHelp) {
  std::uint16_t port = 0;
  {
    const Echo gone;
    port = gone.port();
  }
  const CuttingProxy proxy(port);
  EXPECT_EQ(Connected(proxy.port()).ask("anybody?"), "");
}

}  // namespace
}  // namespace perdure::test
