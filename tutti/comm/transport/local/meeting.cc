#include "tutti/comm/transport/local/meeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "tutti/core/clock.h"

namespace tutti::comm {
namespace {

// User and id name the meeting; two users never meet.
std::string socket_name(const LocalJob& job) {
  return fmt::format("tutti/{}/{}", geteuid(), job.id);
}

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

struct Hello {
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint64_t job = 0;
};

}  // namespace

Meeting::Meeting(const LocalJob& job) : job_(job) {
  if (job_.size > 1) job_.rank == 0 ? host() : visit();
}

Connection Meeting::listen() const {
  return job_.master.empty() ? Connection::listen(socket_name(job_))
                             : Connection::listen_on(job_.port);
}

Connection Meeting::call() const {
  return job_.master.empty() ? Connection::connect(socket_name(job_))
                             : Connection::connect_to(job_.master, job_.port);
}

std::string Meeting::place() const {
  if (job_.master.empty()) {
    return fmt::format(
        "on this host with the same TUTTI_JOB or MASTER_PORT (here: {}); ranks of "
        "other hosts need MASTER_ADDR and LOCAL_WORLD_SIZE, or mpirun",
        job_.id);
  }
  return fmt::format("with the same MASTER_ADDR and MASTER_PORT (they meet at {}, port {})",
                     job_.master, job_.port);
}

void Meeting::host() {
  const Connection listener = listen();
  if (!listener.is_open()) {
    throw ConfigError(
        "DDL-6-24",
        fmt::format("another job has taken the place where ranks meet ({}): give each its own "
                    "TUTTI_JOB or MASTER_PORT, or TUTTI_PORT. Here: {}.",
                    std::strerror(errno),
                    job_.master.empty() ? job_.id : std::to_string(job_.port)));
  }
  connections_.resize(static_cast<std::size_t>(job_.size));
  const Stopwatch watch;
  while (!missing_ranks().empty()) {
    const double seconds_left = job_.seconds - watch.seconds();
    if (seconds_left <= 0) break;
    admit(listener.accept(seconds_left));
  }
  Result result = Result::ok();
  if (const std::string missing = missing_ranks(); !missing.empty()) {
    result = Result::failure(
        ErrorKind::kTimeout, "DDL-6-20",
        fmt::format("of {} ranks these did not come within {} s: {}. Start all of them {}.",
                    job_.size, job_.seconds, missing, place()));
  }
  for (Connection& connection : connections_) {
    if (connection.is_open()) result ? (void)connection.send("") : connection.refuse(result);
  }
  result.raise();
}

// Only the newcomer is refused when something is wrong with it: it may belong to another job.
void Meeting::admit(Connection visitor) {
  std::string text;
  if (!visitor.is_open() || !visitor.is_same_user() || !visitor.receive(&text, job_.seconds))
    return;
  Hello hello;
  std::memcpy(&hello, text.data(), std::min(sizeof hello, text.size()));
  std::string wrong;
  if (hello.job != std::hash<std::string>()(job_.id)) {
    wrong = "this rank belongs to another job";
  } else if (hello.size != job_.size) {
    wrong = fmt::format("this rank was started with WORLD_SIZE={}, rank 0 with {}", hello.size,
                        job_.size);
  } else if (hello.rank < 1 || hello.rank >= job_.size || connections_[hello.rank].is_open()) {
    wrong = fmt::format("there is a rank {} already", hello.rank);
  }
  if (wrong.empty()) {
    connections_[hello.rank] = std::move(visitor);
    return;
  }
  visitor.refuse(Result::failure(
      ErrorKind::kConfig, "DDL-6-22",
      fmt::format("{}: either RANK or WORLD_SIZE is wrong, or another job has the same id ({}); "
                  "give each its own TUTTI_JOB or MASTER_PORT.",
                  wrong, job_.id)));
}

std::string Meeting::missing_ranks() const {
  std::vector<int> missing;
  for (int rank = 1; rank < job_.size; ++rank) {
    if (!connections_[rank].is_open()) missing.push_back(rank);
  }
  return fmt::format("{}", fmt::join(missing, ", "));
}

void Meeting::visit() {
  const Stopwatch watch;
  Connection host;
  while (!host.is_open()) {
    host = call();
    if (!host.is_open() && watch.seconds() > job_.seconds) {
      throw TimeoutError("DDL-6-20", fmt::format("rank 0 did not come within {} s. Start it {}.",
                                                 job_.seconds, place()));
    }
    if (!host.is_open()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const Hello hello{job_.rank, job_.size, std::hash<std::string>()(job_.id)};
  host.send({reinterpret_cast<const char*>(&hello), sizeof hello});
  // Rank 0 may have begun to wait later than this rank; it says itself when its time is over.
  std::string welcome;
  Result result = host.receive(&welcome);
  if (!result) std::move(result).because("meeting rank 0").raise();
  connections_.push_back(std::move(host));
}

std::vector<std::string> Meeting::exchange(const std::string& mine) {
  if (job_.size == 1) return {mine};
  if (job_.rank == 0) return split_texts(gather(mine));
  connections_[0].send(mine);
  std::string whole;
  Result result = connections_[0].receive(&whole);
  if (!result) std::move(result).because("exchanging with rank 0").raise();
  return split_texts(whole);
}

std::string Meeting::gather(const std::string& mine) {
  std::string whole;
  append_text(&whole, mine);
  Result result = Result::ok();
  for (int rank = 1; rank < job_.size && result; ++rank) {
    std::string text;
    result =
        connections_[rank].receive(&text).because(fmt::format("exchanging with rank {}", rank));
    append_text(&whole, text);
  }
  for (int rank = 1; rank < job_.size; ++rank) {
    result ? (void)connections_[rank].send(whole) : connections_[rank].refuse(result);
  }
  result.raise();
  return whole;
}

}  // namespace tutti::comm
