#include "providers/postgres/connection.h"

#include <algorithm>
#include <cerrno>
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

}  // namespace

Deadline deadline_after(Milliseconds time) noexcept {
  constexpr Milliseconds kLongest = std::chrono::hours(24 * 365);  // the clock must not wrap
  return std::chrono::steady_clock::now() + std::min(time, kLongest);
}

void Connection::Finish::operator()(pg_conn* connection) const noexcept {
  PQfinish(connection);
}

void Connection::Clear::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

Connection::Connection(const ConnectionOptions& options, Deadline deadline) : answer_timeout_(options.answer_timeout) {
  open(options, deadline);
}

Connection::~Connection() = default;

void Connection::fail_lost(const std::string& what) {
  // Whatever comes from this session belongs to a question that nobody asks any more.
  handle_.reset();
  throw PostgresError("", what.empty() ? "the connection to the server is lost" : what);
}

std::string Connection::execute(const std::string& script, Deadline deadline) {
  if (!handle_) throw PostgresError("", "the connection to the server is lost");
  if (PQexitPipelineMode(handle_.get()) != 1 || PQsendQuery(handle_.get(), script.c_str()) != 1) {
    fail_lost(trimmed(PQerrorMessage(handle_.get())));
  }
  flush(deadline);
  std::optional<PostgresError> error;
  std::optional<std::string> value;
  while (const ResultPtr result = next_result(deadline)) {
    const ExecStatusType status = PQresultStatus(result.get());
    const bool done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
    if (!done && !error) error = error_of(result.get());
    if (!value && PQntuples(result.get()) > 0) value = PQgetvalue(result.get(), 0, 0);
    if (PQstatus(handle_.get()) != CONNECTION_OK) break;
  }
  if (PQstatus(handle_.get()) != CONNECTION_OK || PQenterPipelineMode(handle_.get()) != 1) {
    const std::string why = error ? error->what() : trimmed(PQerrorMessage(handle_.get()));
    handle_.reset();
    throw PostgresError(error && error->connection_lost() ? error->state() : "", why);
  }
  if (error) throw PostgresError(*error);
  return value.value_or("");
}

// A process that stood still calls no server silent whose answer has arrived: it has one look after each deadline. A
// server that sends a little again and again gets no more time.
bool Connection::is_ready(short events, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const bool is_late = left.count() < 0;
    if (is_late && std::exchange(last_late_look_, deadline) == deadline) return false;
    pollfd socket_state{.fd = PQsocket(handle_.get()), .events = events, .revents = 0};
    const std::int64_t patience = is_late ? 0 : std::min<std::int64_t>(left.count() + 1, 60'000);
    const int ready = ::poll(&socket_state, 1, static_cast<int>(patience));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) fail_lost("cannot wait for the server: " + std::generic_category().message(errno));
  }
}

void Connection::wait(short events, Deadline deadline) {
  if (!is_ready(events, deadline)) fail_lost("the server did not respond in time");
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

std::vector<Rows> Connection::run(std::span<const Call> calls, Deadline deadline) {
  if (!handle_) throw PostgresError("", "the connection to the server is lost");
  // While the server works on the calls nothing needs memory: a caller without any releases the locks of a fetch at
  // once, which must not come before the fetch.
  std::vector<Rows> answers;
  answers.reserve(calls.size());
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

  std::optional<PostgresError> error;
  std::size_t prepared = 0;  // the first of `newly_prepared`: after an error the server prepares nothing more
  for (std::size_t index = 0; index < calls.size(); ++index) {
    for (std::size_t part = 0; part <= preparations[index]; ++part) {
      ResultPtr result = next_result(deadline);
      if (!result) fail_lost(trimmed(PQerrorMessage(handle_.get())));
      const ExecStatusType status = PQresultStatus(result.get());
      const bool done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
      if (!done && status != PGRES_PIPELINE_ABORTED && !error) error = error_of(result.get());
      if (part < preparations[index]) {
        if (done) ++prepared;
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
  if (PQresultStatus(end.get()) != PGRES_PIPELINE_SYNC)
    fail_lost("protocol error: unexpected number of results in the pipeline; the connection is closed");
  prepared_.insert(newly_prepared.begin(), newly_prepared.begin() + static_cast<std::ptrdiff_t>(prepared));
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
