#include "tutti/comm/transport/local/rendezvous.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "tutti/auth/handshake.h"
#include "tutti/core/clock.h"
#include "tutti/core/log.h"

namespace tutti::comm {
namespace {

void append_text(std::string* whole, const std::string& text) {
  const std::uint64_t bytes = text.size();
  whole->append(reinterpret_cast<const char*>(&bytes), sizeof bytes).append(text);
}

std::vector<std::string> split_texts(const std::string& whole) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < whole.size();) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, whole.data() + at, sizeof bytes);
    texts.push_back(whole.substr(at + sizeof bytes, bytes));
    at += sizeof bytes + bytes;
  }
  return texts;
}

RankHello hello_of(const LocalJob& job) {
  return {.rank = job.rank, .size = job.size, .job = std::hash<std::string>()(job.id)};
}

}  // namespace

Rendezvous::Rendezvous(const LocalJob& job) : job_(job), secret_(job.secret) {
  if (!secret_ && job_.rank == 0) secret_ = auth::Secret::generate();
  if (job_.size > 1) job_.rank == 0 ? serve() : join();
}

Connection Rendezvous::connect() const {
  return job_.master.empty() ? Connection::connect(rendezvous_socket_name(job_))
                             : Connection::connect_to(job_.master, job_.port);
}

std::string Rendezvous::address() const {
  if (job_.master.empty()) {
    return fmt::format(
        "on this host with the same TUTTI_JOB or MASTER_PORT (here: {}); ranks of "
        "other hosts need MASTER_ADDR and LOCAL_WORLD_SIZE, or mpirun",
        job_.id);
  }
  return fmt::format("with the same MASTER_ADDR and MASTER_PORT (rendezvous at {}, port {})",
                     job_.master, job_.port);
}

void Rendezvous::serve() {
  RendezvousListener listener(job_);
  if (!listener.is_open()) {
    throw ConfigError("DDL-6-24",
                      fmt::format("the rendezvous address {} is in use ({}). Give each job a "
                                  "different TUTTI_JOB, MASTER_PORT or TUTTI_PORT.",
                                  job_.master.empty() ? job_.id : std::to_string(job_.port),
                                  std::strerror(errno)));
  }
  if (!job_.secret && !job_.master.empty()) {
    log::warning(
        "DDL-6-29 The rendezvous at port {} has no secret, so an unrelated process could join as a "
        "rank. Start the job with ddlrun, or set {} to "
        "the same 64 hexadecimal digits on all ranks.",
        job_.port, auth::Secret::kVariable);
  }
  connections_.resize(static_cast<std::size_t>(job_.size));
  const Stopwatch watch;
  while (!missing_ranks().empty()) {
    const double seconds_left = job_.seconds - watch.seconds();
    if (seconds_left <= 0) break;
    for (auto& arrival : listener.accept(seconds_left)) accept_rank(std::move(arrival));
  }
  Result result = Result::ok();
  if (const std::string missing = missing_ranks(); !missing.empty()) {
    result = Result::failure(
        ErrorKind::kTimeout, "DDL-6-20",
        fmt::format("of {} ranks, these did not join within {} s: {}. Start all ranks {}.",
                    job_.size, job_.seconds, missing, address()));
  }
  for (Connection& connection : connections_) {
    if (!connection.is_open()) continue;
    result ? (void)connection.send(job_.secret ? "" : secret_->to_hex())
           : connection.refuse(result);
  }
  result.throw_if_error();
}

// An invalid connection is rejected without failing this rank: it may belong to another job.
void Rendezvous::accept_rank(RendezvousListener::Arrival arrival) {
  const RankHello& hello = arrival.hello;
  Connection& connection = arrival.connection;
  std::string wrong;
  if (hello.job != std::hash<std::string>()(job_.id)) {
    wrong = "this rank belongs to a different job";
  } else if (hello.size != job_.size) {
    wrong = fmt::format("this rank was started with WORLD_SIZE={}, rank 0 with {}", hello.size,
                        job_.size);
  } else if (hello.rank < 1 || hello.rank >= job_.size || connections_[hello.rank].is_open()) {
    wrong = fmt::format("rank {} has already joined", hello.rank);
  }
  if (wrong.empty()) {
    connections_[hello.rank] = std::move(connection);
    return;
  }
  connection.refuse(
      Result::failure(ErrorKind::kConfig, "DDL-6-22",
                      fmt::format("{}: RANK or WORLD_SIZE is wrong, or another job has the same id "
                                  "({}). Give each job a different TUTTI_JOB or MASTER_PORT.",
                                  wrong, job_.id)));
}

std::string Rendezvous::missing_ranks() const {
  std::vector<int> missing;
  for (int rank = 1; rank < job_.size; ++rank) {
    if (!connections_[rank].is_open()) missing.push_back(rank);
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

bool Rendezvous::is_rank_zero(const Connection& connection, double seconds) const {
  if (!connection.is_same_user()) return false;
  return !job_.secret || auth::authenticate(connection.file(), *job_.secret, auth::Role::kConnector,
                                            kRendezvousPurpose, seconds);
}

Connection Rendezvous::connect_until_accepted() const {
  constexpr double kLongestHandshake = 10;
  const Stopwatch watch;
  bool was_refused = false;
  for (;;) {
    Connection host = connect();
    const double seconds_left = job_.seconds - watch.seconds();
    if (host.is_open()) {
      if (is_rank_zero(host, std::min(kLongestHandshake, seconds_left))) return host;
      was_refused = true;
    }
    if (seconds_left <= 0 && was_refused) {
      throw TimeoutError(
          "DDL-6-28",
          fmt::format(
              "the process that listens at the address of rank 0 did not authenticate within {} s: "
              "it belongs to another user, or has a different {}. Start rank 0 {}.",
              job_.seconds, auth::Secret::kVariable, address()));
    }
    if (seconds_left <= 0) {
      throw TimeoutError("DDL-6-20", fmt::format("rank 0 did not join within {} s. Start it {}.",
                                                 job_.seconds, address()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(was_refused ? 50 : 5));
  }
}

void Rendezvous::join() {
  Connection host = connect_until_accepted();
  const RankHello hello = hello_of(job_);
  host.send_bytes(&hello, sizeof hello);
  // No timeout: rank 0 may have started to wait later than this rank, and it reports its own timeout.
  std::string welcome;
  Result result = host.receive(&welcome);
  if (!result) std::move(result).with_context("joining the job at rank 0").throw_if_error();
  if (!secret_) secret_ = auth::Secret::from_hex(welcome);
  if (!secret_) {
    throw ConfigError("DDL-6-28",
                      fmt::format("rank 0 has a {}, this rank has not. Set it on all ranks.",
                                  auth::Secret::kVariable));
  }
  connections_.push_back(std::move(host));
}

std::vector<std::string> Rendezvous::exchange(const std::string& mine) {
  if (job_.size == 1) return {mine};
  if (job_.rank == 0) return split_texts(gather(mine));
  connections_[0].send(mine);
  std::string whole;
  Result result = connections_[0].receive(&whole);
  if (!result) std::move(result).with_context("exchanging with rank 0").throw_if_error();
  return split_texts(whole);
}

std::string Rendezvous::gather(const std::string& mine) {
  std::string whole;
  append_text(&whole, mine);
  Result result = Result::ok();
  for (int rank = 1; rank < job_.size && result; ++rank) {
    std::string text;
    result = connections_[rank].receive(&text).with_context(
        fmt::format("exchanging with rank {}", rank));
    append_text(&whole, text);
  }
  for (int rank = 1; rank < job_.size; ++rank) {
    result ? (void)connections_[rank].send(whole) : connections_[rank].refuse(result);
  }
  result.throw_if_error();
  return whole;
}

}  // namespace tutti::comm
