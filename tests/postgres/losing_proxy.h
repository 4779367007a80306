// A server that carries out what it is asked and dies before it answers, as a client sees it: a proxy in front of a
// real one that loses chosen answers.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace perdure::test {

class LosingProxy {
 public:
  explicit LosingProxy(int server_port) : server_port_(server_port), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in here = address(0);
    socklen_t size = sizeof(here);
    if (listener_ < 0 || ::bind(listener_, as_address(here), size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, as_address(here), &size) != 0) {
      throw std::runtime_error("no port for a proxy");
    }
    port_ = ntohs(here.sin_port);
    acceptor_ = std::thread([this] { accept_connections(); });
  }
  LosingProxy(const LosingProxy&) = delete;
  LosingProxy& operator=(const LosingProxy&) = delete;
  ~LosingProxy() {
    stopping_ = true;
    acceptor_.join();
    for (std::thread& connection : connections_) connection.join();
    ::close(listener_);
  }

  // The url of the server, by way of the proxy.
  [[nodiscard]] std::string url(std::string server_url) const {
    const std::string port = ":" + std::to_string(server_port_);
    return server_url.replace(server_url.find(port), port.size(), ":" + std::to_string(port_));
  }
  // The next request that contains these bytes is carried out, and its connection lost before the answer.
  void lose_answer_to(const std::string& marker) {
    const std::scoped_lock guard(mutex_);
    marker_ = marker;
  }
  [[nodiscard]] int lost() const noexcept { return lost_; }

 private:
  static constexpr int kLookAgain = 20;  // ms, for the end

  static sockaddr* as_address(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }
  static sockaddr_in address(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }

  void accept_connections() {
    while (!stopping_) {
      pollfd waiting{.fd = listener_, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, kLookAgain) <= 0) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      const int server = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in there = address(server_port_);
      if (::connect(server, as_address(there), sizeof(there)) == 0) {
        connections_.emplace_back([this, client, server] { forward(client, server); });
      } else {
        ::close(client);
        ::close(server);
      }
    }
  }

  bool is_marked(std::string_view request) {
    const std::scoped_lock guard(mutex_);
    if (marker_.empty() || request.find(marker_) == std::string_view::npos) return false;
    marker_.clear();
    return true;
  }

  void forward(int client, int server) {
    // What the server says when it is ready for the next request, no transaction being open.
    constexpr std::string_view kReady("Z\0\0\0\5I", 6);
    bool losing = false;
    std::string answer;  // that is lost
    std::array<char, 65'536> bytes{};
    std::array<pollfd, 2> ends = {pollfd{.fd = client, .events = POLLIN, .revents = 0},
                                  pollfd{.fd = server, .events = POLLIN, .revents = 0}};
    bool open = true;
    while (open && !stopping_) {
      if (::poll(ends.data(), ends.size(), kLookAgain) <= 0) continue;
      for (const pollfd& end : ends) {
        if (end.revents == 0) continue;
        const ssize_t size = ::read(end.fd, bytes.data(), bytes.size());
        open = open && size > 0;
        if (size <= 0) break;
        const std::string_view read(bytes.data(), static_cast<std::size_t>(size));
        const bool request = end.fd == client;
        losing = losing || (request && is_marked(read));
        if (losing && !request) {
          answer += read;
          open = !answer.ends_with(kReady);
          if (!open) ++lost_;
          continue;
        }
        open = open && ::send(request ? server : client, read.data(), read.size(), MSG_NOSIGNAL) == size;
      }
    }
    ::close(client);
    ::close(server);
  }

  int server_port_;
  int listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::string marker_;
  std::atomic<int> lost_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> connections_;  // the acceptor's, until it has ended
  std::thread acceptor_;
};

}  // namespace perdure::test
