// A session with a PostgreSQL server for measuring programs: bare libpq, statements that are prepared once, binary
// arguments, and several statements in one round trip and one transaction.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <libpq-fe.h>

namespace bench {

// The arguments of a statement, in order.
class Values {
 public:
  Values& add(std::int64_t value) {
    append(values_.emplace_back(), value);
    return *this;
  }
  Values& add(std::span<const std::int64_t> list) {
    constexpr std::int32_t kBigint = 20;
    std::string& bytes = begin_list(kBigint, list.size());
    for (const std::int64_t value : list) {
      append(bytes, std::int32_t{sizeof(value)});
      append(bytes, value);
    }
    return *this;
  }
  // The same bytes for each of so many rows.
  Values& repeat(std::string_view value, std::size_t count) {
    constexpr std::int32_t kBytes = 17;
    std::string& bytes = begin_list(kBytes, count);
    bytes.reserve(bytes.size() + count * (value.size() + sizeof(std::int32_t)));
    for (std::size_t i = 0; i < count; ++i) {
      append(bytes, static_cast<std::int32_t>(value.size()));
      bytes.append(value);
    }
    return *this;
  }
  [[nodiscard]] const std::vector<std::string>& encoded() const noexcept { return values_; }

 private:
  template <std::integral Integer>
  static void append(std::string& bytes, Integer value) {
    const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
    std::array<char, sizeof(value)> big_endian{};
    for (std::size_t i = 0; i < sizeof(value); ++i) {
      big_endian[i] = static_cast<char>(bits >> (8 * (sizeof(value) - 1 - i)));
    }
    bytes.append(big_endian.data(), big_endian.size());
  }
  // One dimension that begins with 1, no nulls.
  std::string& begin_list(std::int32_t type, std::size_t size) {
    std::string& bytes = values_.emplace_back();
    for (const std::int32_t number : {size == 0 ? 0 : 1, 0, type}) append(bytes, number);
    if (size == 0) return bytes;
    append(bytes, static_cast<std::int32_t>(size));
    append(bytes, std::int32_t{1});
    return bytes;
  }

  std::vector<std::string> values_;
};

class Answer {
 public:
  explicit Answer(PGresult* result) : result_(result) {}
  [[nodiscard]] int rows() const { return PQntuples(result_.get()); }
  [[nodiscard]] std::int64_t integer(int row, int column) const {
    const std::string_view bytes = this->bytes(row, column);
    std::uint64_t value = 0;
    for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(value);
  }
  [[nodiscard]] std::string_view bytes(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
  }
  [[nodiscard]] ExecStatusType status() const { return PQresultStatus(result_.get()); }

 private:
  struct Clear {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

struct Call {
  const char* statement;  // the name that it was prepared under
  Values values;
};

class Session {
 public:
  // PQconnectdb() prints the notices that a server sends before the connection is made. PQreset() connects as it does.
  explicit Session(const std::string& url) : handle_(PQconnectStart(url.c_str())) {
    PQsetNoticeProcessor(handle_.get(), [](void*, const char*) {}, nullptr);
    if (PQstatus(handle_.get()) != CONNECTION_BAD) PQreset(handle_.get());
    if (PQstatus(handle_.get()) != CONNECTION_OK) die("connect");
  }

  // Any number of statements; answers what the last one answers.
  Answer execute(const std::string& script) {
    Answer answer(PQexec(handle_.get(), script.c_str()));
    if (!is_done(answer)) die(script.c_str());
    return answer;
  }
  // The first field of the answer.
  std::string text(const std::string& query) {
    const Answer answer = execute(query);
    return answer.rows() == 0 ? "" : std::string(answer.bytes(0, 0));
  }
  void prepare(const char* name, const char* sql) {
    const Answer answer(PQprepare(handle_.get(), name, sql, 0, nullptr));
    if (!is_done(answer)) die(sql);
  }
  // In one transaction and one round trip.
  std::vector<Answer> run(std::initializer_list<Call> calls) {
    if (PQpipelineStatus(handle_.get()) == PQ_PIPELINE_OFF && PQenterPipelineMode(handle_.get()) != 1) die("pipeline");
    for (const Call& call : calls) send(call);
    if (PQpipelineSync(handle_.get()) != 1) die("sync");
    ++round_trips_;
    std::vector<Answer> answers;
    answers.reserve(calls.size());
    for (const Call& call : calls) {
      if (!is_done(answers.emplace_back(PQgetResult(handle_.get())))) die(call.statement);
      static_cast<void>(Answer(PQgetResult(handle_.get())));  // the end of this answer
    }
    if (Answer(PQgetResult(handle_.get())).status() != PGRES_PIPELINE_SYNC) die("sync");
    return answers;
  }

  [[nodiscard]] std::uint64_t round_trips() const noexcept { return round_trips_; }
  [[nodiscard]] int server_process() const { return PQbackendPID(handle_.get()); }

 private:
  struct Finish {
    void operator()(PGconn* handle) const noexcept { PQfinish(handle); }
  };

  [[nodiscard]] static bool is_done(const Answer& answer) {
    return answer.status() == PGRES_COMMAND_OK || answer.status() == PGRES_TUPLES_OK;
  }
  void send(const Call& call) {
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (const std::string& value : call.values.encoded()) {
      values.push_back(value.data());
      lengths.push_back(static_cast<int>(value.size()));
    }
    const std::vector<int> binary(values.size(), 1);
    if (PQsendQueryPrepared(handle_.get(), call.statement, static_cast<int>(values.size()), values.data(),
                            lengths.data(), binary.data(), 1) != 1) {
      die(call.statement);
    }
  }
  [[noreturn]] void die(const char* where) const {
    throw std::runtime_error(std::string(where) + ": " + PQerrorMessage(handle_.get()));
  }

  std::unique_ptr<PGconn, Finish> handle_;
  std::uint64_t round_trips_ = 0;
};

}  // namespace bench
