#include "support/cutting_proxy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/dice.h"

namespace perdure::test {

namespace {

constexpr std::size_t kEndless = std::numeric_limits<std::size_t>::max();

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

class File {
 public:
  explicit File(int file = -1) noexcept : file_(file) {}
  File(File&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~File() {
    if (file_ >= 0) ::close(file_);
  }
  [[nodiscard]] int get() const noexcept { return file_; }

 private:
  int file_;
};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

File new_socket() {
  return File(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
}

// Without waiting for more, and with a reset at its end, as when a machine goes away.
void make_abrupt(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
}

// What was read from one side and not yet written to the other.
struct Direction {
  int from = -1;
  int to = -1;
  std::string pending;

  [[nodiscard]] bool wants_to_write() const noexcept { return !pending.empty(); }
};

struct Connection {
  File client;
  File target;
  Direction request;
  Direction answer;
  std::size_t bytes_left = kEndless;
  bool loses_answer = false;
  bool cut = false;
};

}  // namespace

class CuttingProxy::Forwarder {
 public:
  explicit Forwarder(std::uint16_t target_port)
      : target_(loopback(target_port)),
        listener_(new_socket()),
        wake_up_(checked(::eventfd(0, EFD_CLOEXEC), "eventfd")) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    auto* pointer = reinterpret_cast<sockaddr*>(&address);
    checked(::bind(listener_.get(), pointer, size), "bind");
    checked(::listen(listener_.get(), SOMAXCONN), "listen");
    checked(::getsockname(listener_.get(), pointer, &size), "getsockname");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;
  ~Forwarder() {
    change([&] { ending_ = true; });
    thread_.join();
  }

  template <class Change>
  void change(Change how) {
    {
      const std::scoped_lock lock(mutex_);
      how();
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_up_.get(), &one, sizeof(one));
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  // ---- guarded by mutex_: what the test wants ----

  std::mutex mutex_;
  std::condition_variable cut_done_;
  std::optional<Dice> budgets_;
  std::size_t low_ = 0;
  std::size_t high_ = 0;
  std::optional<Dice> losses_;
  unsigned loss_percent_ = 0;
  std::string unanswered_;               // part of the next request that gets no answer; empty: none
  std::string silencing_;                // part of the next request at which the target falls silent; empty: none
  std::size_t requests_to_silence_ = 0;  // so many requests pass before, this one included; 0: none
  bool silent_ = false;
  bool new_rules_ = false;
  bool cut_wanted_ = false;
  bool ending_ = false;
  std::size_t accepted_ = 0;
  std::size_t cuts_ = 0;
  std::size_t lost_answers_ = 0;

 private:
  void run() {
    std::vector<pollfd> files;
    while (true) {
      bool silent = false;
      {
        const std::scoped_lock lock(mutex_);
        if (ending_) return;
        follow_orders();
        silent = silent_;
      }
      files = files_to_watch(silent);
      if (::poll(files.data(), files.size(), -1) < 0) continue;
      const std::scoped_lock lock(mutex_);
      if (files[1].revents != 0) forget_wake_up();
      if (new_rules_ || cut_wanted_) continue;  // which hold for what has just come
      std::size_t next = 2;
      for (Connection& connection : connections_) {
        const short client_events = files[next++].revents;
        const short target_events = files[next++].revents;
        serve(connection, client_events, target_events);
      }
      connections_.remove_if([](const Connection& connection) { return connection.cut; });
      if (files[0].revents != 0) accept();
    }
  }

  void follow_orders() {
    if (cut_wanted_) {
      cuts_ += connections_.size();
      connections_.clear();
      cut_wanted_ = false;
      cut_done_.notify_all();
    }
    if (!new_rules_) return;
    new_rules_ = false;
    for (Connection& connection : connections_) connection.bytes_left = next_budget();
  }
  [[nodiscard]] std::size_t next_budget() { return budgets_ ? budgets_->between(low_, high_) : kEndless; }

  [[nodiscard]] std::vector<pollfd> files_to_watch(bool silent) const {
    std::vector<pollfd> files{{listener_.get(), POLLIN, 0}, {wake_up_.get(), POLLIN, 0}};
    // One side is read when the other has taken what was read before.
    const auto events = [](const Direction& in, const Direction& out) {
      return static_cast<short>((in.wants_to_write() ? 0 : POLLIN) | (out.wants_to_write() ? POLLOUT : 0));
    };
    const auto watched = [silent](int file) { return silent ? -1 : file; };
    for (const Connection& connection : connections_) {
      files.push_back({watched(connection.client.get()), events(connection.request, connection.answer), 0});
      files.push_back({watched(connection.target.get()), events(connection.answer, connection.request), 0});
    }
    return files;
  }
  void forget_wake_up() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t read = ::read(wake_up_.get(), &count, sizeof(count));
  }

  void accept() {
    Connection connection;
    connection.client = File(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.client.get() < 0) return;
    connection.target = new_socket();
    ++accepted_;
    make_abrupt(connection.client.get());
    // On this machine that does not take long; nobody there means that the client is refused too.
    const bool connected =
        ::connect(connection.target.get(), reinterpret_cast<const sockaddr*>(&target_), sizeof(target_)) == 0;
    if (!connected) return;
    make_abrupt(connection.target.get());
    connection.request = {connection.client.get(), connection.target.get(), {}};
    connection.answer = {connection.target.get(), connection.client.get(), {}};
    connection.bytes_left = next_budget();
    connections_.push_back(std::move(connection));
  }

  void serve(Connection& connection, short client_events, short target_events) {
    if (silent_) return;  // since this round began
    constexpr short kReadable = POLLIN | POLLHUP | POLLERR;
    if (connection.request.wants_to_write()) {
      if (target_events != 0) write(connection, connection.request);
    } else if ((client_events & kReadable) != 0) {
      read(connection, connection.request);
    }
    if (connection.cut) return;
    if (connection.answer.wants_to_write()) {
      if (client_events != 0) write(connection, connection.answer);
    } else if ((target_events & kReadable) != 0) {
      read(connection, connection.answer);
    }
  }
  void read(Connection& connection, Direction& direction) {
    std::array<char, 65'536> bytes{};
    const ssize_t count = ::recv(direction.from, bytes.data(), bytes.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      connection.cut = true;  // by one of the two; not counted as ours
      return;
    }
    const std::string_view read(bytes.data(), static_cast<std::size_t>(count));
    if (&direction == &connection.request) {
      if (silences(read)) {
        silent_ = true;
        direction.pending.assign(read);
        return;
      }
      if (!unanswered_.empty() && read.find(unanswered_) != std::string_view::npos) {
        connection.loses_answer = true;
        unanswered_.clear();
      }
    } else if (connection.loses_answer || (losses_ && losses_->chance(loss_percent_))) {
      ++lost_answers_;
      return cut(connection);
    }
    const std::size_t passed = std::min(read.size(), connection.bytes_left);
    direction.pending.assign(read.substr(0, passed));
    if (connection.bytes_left != kEndless) connection.bytes_left -= passed;
    write(connection, direction);
  }
  [[nodiscard]] bool silences(std::string_view request) {
    const bool named = !silencing_.empty() && request.find(silencing_) != std::string_view::npos;
    const bool counted = requests_to_silence_ > 0 && --requests_to_silence_ == 0;
    if (named) silencing_.clear();
    return named || counted;
  }
  void write(Connection& connection, Direction& direction) {
    if (!direction.pending.empty()) {
      const ssize_t count = ::send(direction.to, direction.pending.data(), direction.pending.size(), MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) {
        connection.cut = true;
        return;
      }
      if (count > 0) direction.pending.erase(0, static_cast<std::size_t>(count));
    }
    if (direction.pending.empty() && connection.bytes_left == 0) cut(connection);
  }
  void cut(Connection& connection) {
    ++cuts_;
    connection.cut = true;
  }

  sockaddr_in target_;
  File listener_;
  File wake_up_;
  std::uint16_t port_ = 0;
  std::list<Connection> connections_;  // the thread's own
  std::thread thread_;
};

CuttingProxy::CuttingProxy(std::uint16_t target_port) : forwarder_(std::make_unique<Forwarder>(target_port)) {}
CuttingProxy::~CuttingProxy() = default;

std::uint16_t CuttingProxy::port() const noexcept {
  return forwarder_->port();
}

void CuttingProxy::pass_everything() {
  forwarder_->change([&] {
    forwarder_->budgets_.reset();
    forwarder_->losses_.reset();
    forwarder_->silencing_.clear();
    forwarder_->requests_to_silence_ = 0;
    forwarder_->silent_ = false;
    forwarder_->new_rules_ = true;
  });
}

void CuttingProxy::cut_after_bytes(std::uint64_t seed, std::size_t low, std::size_t high) {
  forwarder_->change([&] {
    forwarder_->budgets_.emplace(seed);
    forwarder_->low_ = low;
    forwarder_->high_ = high;
    forwarder_->losses_.reset();
    forwarder_->new_rules_ = true;
  });
}

void CuttingProxy::lose_answers(std::uint64_t seed, unsigned percent) {
  forwarder_->change([&] {
    forwarder_->budgets_.reset();
    forwarder_->losses_.emplace(seed);
    forwarder_->loss_percent_ = percent;
    forwarder_->new_rules_ = true;
  });
}

void CuttingProxy::lose_answer_to(const std::string& part_of_request) {
  forwarder_->change([&] { forwarder_->unanswered_ = part_of_request; });
}

void CuttingProxy::go_silent() {
  forwarder_->change([&] { forwarder_->silent_ = true; });
}

void CuttingProxy::go_silent_at(const std::string& part_of_request) {
  forwarder_->change([&] { forwarder_->silencing_ = part_of_request; });
}

void CuttingProxy::go_silent_at_request(std::size_t number) {
  forwarder_->change([&] { forwarder_->requests_to_silence_ = number; });
}

void CuttingProxy::cut_all() {
  forwarder_->change([&] { forwarder_->cut_wanted_ = true; });
  std::unique_lock lock(forwarder_->mutex_);
  forwarder_->cut_done_.wait(lock, [&] { return !forwarder_->cut_wanted_; });
}

std::size_t CuttingProxy::connections() const {
  const std::scoped_lock lock(forwarder_->mutex_);
  return forwarder_->accepted_;
}

std::size_t CuttingProxy::cuts() const {
  const std::scoped_lock lock(forwarder_->mutex_);
  return forwarder_->cuts_;
}

std::size_t CuttingProxy::lost_answers() const {
  const std::scoped_lock lock(forwarder_->mutex_);
  return forwarder_->lost_answers_;
}

bool CuttingProxy::is_silent() const {
  const std::scoped_lock lock(forwarder_->mutex_);
  return forwarder_->silent_;
}

}  // namespace perdure::test
