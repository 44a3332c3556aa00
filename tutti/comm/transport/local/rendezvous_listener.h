// Listening side of the rendezvous: rank 0 accepts the other ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/auth/accept_queue.h"
#include "tutti/comm/transport/local/connection.h"
#include "tutti/comm/transport/local/local_job.h"
#include "tutti/comm/transport/tcp/listener.h"

namespace tutti::comm {

inline constexpr const char* kRendezvousPurpose = "rendezvous";  // authentication context

// First message of a rank, of fixed size.
struct RankHello {
  static constexpr char kMagic[9] = "TUTTI-R1";
  char magic[8] = {'T', 'U', 'T', 'T', 'I', '-', 'R', '1'};
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint64_t job = 0;  // hash of its id
};
static_assert(sizeof(RankHello) == 24);

// Name of the abstract Unix socket of a job on one host. With a secret it cannot be guessed, so no other process can
// take it.
std::string rendezvous_socket_name(const LocalJob& job);

// Accepts the ranks of the job whatever unrelated processes send: connections are served concurrently, each for at most
// kPendingTime and at most kMaxPending at once. On one host the peer must run as the same user (SO_PEERCRED). If the
// job has a secret, the peer must prove that it knows it.
class RendezvousListener {
 public:
  struct Arrival {
    Connection connection;
    RankHello hello;
  };

  explicit RendezvousListener(const LocalJob& job);
  // False if the address is taken; errno is set.
  bool is_open() const { return !files_.empty(); }
  // Waits for at most `seconds` and returns the peers whose RankHello has arrived.
  std::vector<Arrival> accept(double seconds);

 private:
  static constexpr std::size_t kMaxPending = 128;
  static constexpr std::int64_t kPendingTime = 10'000'000'000;
  struct Pending {
    Connection connection;
    std::int64_t deadline_ns;
    std::string received = {};
  };

  void accept_connections();
  void add(int socket);
  // Returns false when the connection must be dropped.
  static bool read_hello(Pending& pending);

  std::vector<os::UniqueFd> files_;
  std::optional<auth::AcceptQueue> unauthenticated_;  // only if the job has a secret
  std::vector<Pending> pending_;                      // oldest first
};

}  // namespace tutti::comm
