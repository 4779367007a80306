// CuttingProxy: a TCP proxy that cuts connections, in the midst of a request, in the midst of its answer, or between
// the two, when the other side has done what it was asked for and nobody will ever hear of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace perdure::test {

class CuttingProxy {
 public:
  // Listens on a free port of 127.0.0.1 and forwards to another one there, with a thread of its own. At first nothing
  // is cut. Throws std::system_error.
  explicit CuttingProxy(std::uint16_t target_port);
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;
  ~CuttingProxy();  // cuts what is left

  [[nodiscard]] std::uint16_t port() const noexcept;

  // Each of the following says how it goes on from here; new connections are taken in any case. They return at once,
  // except cut_all().

  void pass_everything();
  // Each connection, those that are there too, is cut after so many bytes, both directions counted, a number between
  // `low` and `high` that the seed decides.
  void cut_after_bytes(std::uint64_t seed, std::size_t low, std::size_t high);
  // What the target sends is lost, with this probability each time, and the connection with it. What it was sent
  // arrives.
  void lose_answers(std::uint64_t seed, unsigned percent);
  // The answer to the next request that contains this is lost, and the connection with it; nothing else changes.
  void lose_answer_to(const std::string& part_of_request);
  // Nothing passes any more in either direction, and nothing is cut: the target stands still. New connections are
  // accepted and get no response. pass_everything() ends it, and then all that was sent before arrives.
  void go_silent();
  // The same from the next request on that contains this; that request does not arrive.
  void go_silent_at(const std::string& part_of_request);
  // The same from a request on that is counted from now, over all connections: 1 is the next one.
  void go_silent_at_request(std::size_t number);
  // Cuts everything that is connected now. Returns when that has happened.
  void cut_all();

  [[nodiscard]] std::size_t connections() const;  // so far
  [[nodiscard]] std::size_t cuts() const;         // so far, of all kinds
  [[nodiscard]] std::size_t lost_answers() const;
  [[nodiscard]] bool is_silent() const;

 private:
  class Forwarder;
  std::unique_ptr<Forwarder> forwarder_;
};

}  // namespace perdure::test
