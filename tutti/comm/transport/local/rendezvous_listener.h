// The listening side of the rendezvous of ranks without MPI: rank 0 admits the others.
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

inline constexpr const char* kRendezvousPurpose = "rendezvous";  // of the handshake

// The first message of a rank, of fixed size.
struct RankHello {
  static constexpr char kMagic[9] = "TUTTI-R1";
  char magic[8] = {'T', 'U', 'T', 'T', 'I', '-', 'R', '1'};
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint64_t job = 0;  // hash of its id
};
static_assert(sizeof(RankHello) == 24);

// The abstract Unix socket of a job on one host. With a secret its name cannot be guessed, so no
// other process can take it.
std::string rendezvous_socket_name(const LocalJob& job);

// Whatever other processes send, or do not send, ranks of the job are admitted: connections are
// served side by side, each for a limited time, and at most kMaxPending at once. On one host the
// peer must run as the same user (SO_PEERCRED); where the job has a secret, the peer must prove
// that it knows it.
class RendezvousListener {
 public:
  struct Arrival {
    Connection connection;
    RankHello hello;
  };

  explicit RendezvousListener(const LocalJob& job);
  // False when the address is taken; errno has the reason.
  bool is_open() const { return !files_.empty(); }
  // Waits for at most `seconds`, and returns the peers that have said who they are.
  std::vector<Arrival> accept(double seconds);

 private:
  static constexpr std::size_t kMaxPending = 128;
  static constexpr std::int64_t kPendingTime = 10'000'000'000;
  struct Pending {
    Connection connection;
    std::int64_t deadline_ns;
    std::string received = {};
  };

  void admit();
  void add(int socket);
  // False when the connection is over.
  static bool read_hello(Pending& pending);

  std::vector<os::UniqueFd> files_;
  std::optional<auth::AcceptQueue> unauthenticated_;  // with a secret only
  std::vector<Pending> pending_;                      // oldest first
};

}  // namespace tutti::comm
