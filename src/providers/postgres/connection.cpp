#include "providers/postgres/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <libpq-fe.h>
#include <poll.h>

namespace perdure::postgres {

namespace {

// libpq ends its messages with a line feed.
std::string trimmed(const char* message) {
  std::string text = message != nullptr ? message : "";
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

PostgresError error_of(const pg_result* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  // Not the whole message: its details may quote rows, and with them payloads.
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const char* const hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
  std::string message = primary != nullptr ? primary : trimmed(PQresultErrorMessage(result));
  if (hint != nullptr) message += "; hint: " + std::string(hint);
  return {state != nullptr ? state : "", message};
}

std::string quoted_value(const std::string& value) {
  std::string quoted = "'";
  for (const char letter : value) {
    if (letter == '\'') quoted += '\'';
    quoted += letter;
  }
  return quoted + "'";
}

}  // namespace

void Connection::Finish::operator()(pg_conn* connection) const noexcept {
  PQfinish(connection);
}

void Connection::Clear::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

Connection::Connection(const ConnectionOptions& options) : answer_timeout_(options.answer_timeout) {
  open(options);
}

Connection::~Connection() = default;

void Connection::open(const ConnectionOptions& options) {
  // What the URL says wins over what stands before it, and is won over by what stands behind it.
  const std::string seconds = std::to_string(std::max<Milliseconds::rep>(options.connect_timeout.count() / 1'000, 2));
  const std::string patience = std::to_string(options.answer_timeout.count());
  const std::array<const char*, 7> names = {"connect_timeout",
                                            "tcp_user_timeout",
                                            "fallback_application_name",
                                            "dbname",
                                            "client_encoding",
                                            "options",
                                            nullptr};
  std::array<const char*, 7> values = {seconds.c_str(), patience.c_str(), "perdure", options.url.c_str(),
                                       "UTF8",          nullptr,          nullptr};
  handle_.reset(PQconnectdbParams(names.data(), values.data(), 1));
  if (!handle_) throw PostgresError("", "out of memory");
  if (PQstatus(handle_.get()) != CONNECTION_OK) {
    throw PostgresError("08001", trimmed(PQerrorMessage(handle_.get())));
  }
  // Notices are for people at a terminal.
  PQsetNoticeProcessor(handle_.get(), [](void*, const char*) {}, nullptr);
  // Every statement that matters has an index to go by, and tables that grow and shrink all day leave no statistics
  // that could tell the planner so.
  execute("SET search_path TO " + quoted_name(options.schema) +
          "; SET plan_cache_mode TO force_generic_plan; SET jit TO off; SET enable_seqscan TO off;"
          " SET enable_hashjoin TO off; SET enable_mergejoin TO off; SET enable_bitmapscan TO off;"
          " SET default_transaction_isolation TO 'read committed'; SET statement_timeout TO " +
          quoted_value(patience) + "; SET idle_in_transaction_session_timeout TO " + quoted_value(patience));
  const ResultPtr standby(PQexec(handle_.get(), "SELECT pg_is_in_recovery()"));
  if (PQresultStatus(standby.get()) != PGRES_TUPLES_OK) throw error_of(standby.get());
  if (std::strcmp(PQgetvalue(standby.get(), 0, 0), "t") == 0) {
    throw PostgresError("25006", "the server is a standby, which can only be read");
  }
  if (PQsetnonblocking(handle_.get(), 1) != 0 || PQenterPipelineMode(handle_.get()) != 1) {
    fail_lost(trimmed(PQerrorMessage(handle_.get())));
  }
}

void Connection::fail_lost(const std::string& what) {
  // Whatever comes from this session belongs to a question that nobody asks any more.
  handle_.reset();
  throw PostgresError("", what.empty() ? "the connection to the server is lost" : what);
}

void Connection::execute(const std::string& script) {
  const bool pipelined = PQpipelineStatus(handle_.get()) != PQ_PIPELINE_OFF;
  if (pipelined) PQexitPipelineMode(handle_.get());
  const ResultPtr result(PQexec(handle_.get(), script.c_str()));
  const ExecStatusType status = PQresultStatus(result.get());
  if (PQstatus(handle_.get()) != CONNECTION_OK) fail_lost(trimmed(PQerrorMessage(handle_.get())));
  if (pipelined) PQenterPipelineMode(handle_.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
    throw error_of(result.get());
  }
}

void Connection::wait(short events, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() < 0) fail_lost("the server did not answer in time");
    pollfd socket_state{.fd = PQsocket(handle_.get()), .events = events, .revents = 0};
    const int ready = ::poll(&socket_state, 1, static_cast<int>(std::min<std::int64_t>(left.count() + 1, 60'000)));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) fail_lost("cannot wait for the server: " + std::generic_category().message(errno));
  }
}

void Connection::flush(Deadline deadline) {
  for (;;) {
    const int left = PQflush(handle_.get());
    if (left == 0) return;
    if (left < 0) fail_lost(trimmed(PQerrorMessage(handle_.get())));
    wait(POLLIN | POLLOUT, deadline);
    // The server may be unable to take more before we have taken what it sends.
    if (PQconsumeInput(handle_.get()) != 1) fail_lost(trimmed(PQerrorMessage(handle_.get())));
  }
}

Connection::ResultPtr Connection::next_result(Deadline deadline) {
  while (PQisBusy(handle_.get()) != 0) {
    wait(POLLIN, deadline);
    if (PQconsumeInput(handle_.get()) != 1) fail_lost(trimmed(PQerrorMessage(handle_.get())));
  }
  return ResultPtr(PQgetResult(handle_.get()));
}

void Connection::send(const Call& call, std::vector<const char*>& sent) {
  const std::string name = "p" + std::to_string(reinterpret_cast<std::uintptr_t>(call.sql));
  const std::vector<std::optional<std::string>>& arguments = call.parameters.values();
  if (!prepared_.contains(call.sql) && std::find(sent.begin(), sent.end(), call.sql) == sent.end()) {
    if (PQsendPrepare(handle_.get(), name.c_str(), call.sql, 0, nullptr) != 1) {
      fail_lost(trimmed(PQerrorMessage(handle_.get())));
    }
    sent.push_back(call.sql);
  }
  std::vector<const char*> values(arguments.size(), nullptr);
  std::vector<int> lengths(arguments.size(), 0);
  const std::vector<int> formats(arguments.size(), 1);
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    if (!arguments[index]) continue;
    values[index] = arguments[index]->data();
    lengths[index] = static_cast<int>(arguments[index]->size());
  }
  if (PQsendQueryPrepared(handle_.get(), name.c_str(), static_cast<int>(arguments.size()), values.data(),
                          lengths.data(), formats.data(), 1) != 1) {
    fail_lost(trimmed(PQerrorMessage(handle_.get())));
  }
}

std::vector<Rows> Connection::run(std::span<const Call> calls) {
  if (!handle_) throw PostgresError("", "the connection to the server is lost");
  const Deadline deadline = std::chrono::steady_clock::now() + answer_timeout_;
  std::vector<const char*> newly_prepared;
  std::vector<std::size_t> preparations;  // how many statements each call prepared before itself
  preparations.reserve(calls.size());
  for (const Call& call : calls) {
    const std::size_t before = newly_prepared.size();
    send(call, newly_prepared);
    preparations.push_back(newly_prepared.size() - before);
  }
  if (PQpipelineSync(handle_.get()) != 1) fail_lost(trimmed(PQerrorMessage(handle_.get())));
  flush(deadline);

  std::vector<Rows> answers;
  answers.reserve(calls.size());
  std::optional<PostgresError> error;
  std::size_t prepared = 0;
  for (std::size_t index = 0; index < calls.size(); ++index) {
    for (std::size_t part = 0; part <= preparations[index]; ++part) {
      ResultPtr result = next_result(deadline);
      if (!result) fail_lost(trimmed(PQerrorMessage(handle_.get())));
      const ExecStatusType status = PQresultStatus(result.get());
      const bool done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
      if (!done && status != PGRES_PIPELINE_ABORTED && !error) error = error_of(result.get());
      if (part < preparations[index]) {
        if (done) prepared_.insert(newly_prepared[prepared]);
        ++prepared;
      } else {
        answers.emplace_back(result.release());
      }
      if (PQstatus(handle_.get()) != CONNECTION_OK) {
        fail_lost(error ? error->what() : trimmed(PQerrorMessage(handle_.get())));
      }
      static_cast<void>(next_result(deadline));  // the end of this answer, always nothing
    }
  }
  const ResultPtr end = next_result(deadline);
  if (PQresultStatus(end.get()) != PGRES_PIPELINE_SYNC) fail_lost("the server's answers do not fit the questions");
  if (error) throw PostgresError(*error);
  return answers;
}

bool Connection::is_usable() {
  if (!handle_ || PQstatus(handle_.get()) != CONNECTION_OK) return false;
  pollfd state{.fd = PQsocket(handle_.get()), .events = POLLIN, .revents = 0};
  // What comes unasked is mostly a farewell, whose second half may still be on its way. A new connection costs little.
  return ::poll(&state, 1, 0) == 0;
}

int Connection::socket() const noexcept {
  return PQsocket(handle_.get());
}

int Connection::server_process() const noexcept {
  return PQbackendPID(handle_.get());
}

int Connection::server_version() const noexcept {
  return PQserverVersion(handle_.get());
}

std::vector<std::string> Connection::notifications() {
  if (!handle_) throw PostgresError("", "the connection to the server is lost");
  if (PQconsumeInput(handle_.get()) != 1) fail_lost(trimmed(PQerrorMessage(handle_.get())));
  std::vector<std::string> payloads;
  struct Free {
    void operator()(PGnotify* notification) const noexcept { PQfreemem(notification); }
  };
  while (const std::unique_ptr<PGnotify, Free> notification{PQnotifies(handle_.get())}) {
    if (notification->be_pid != server_process()) payloads.emplace_back(notification->extra);
  }
  return payloads;
}

std::string Connection::quoted_name(const std::string& name) const {
  const std::unique_ptr<char, decltype(&PQfreemem)> quoted(PQescapeIdentifier(handle_.get(), name.data(), name.size()),
                                                           &PQfreemem);
  if (!quoted)
    throw PostgresError("22023", "'" + name + "' cannot be a name: " + trimmed(PQerrorMessage(handle_.get())));
  return quoted.get();
}

}  // namespace perdure::postgres
