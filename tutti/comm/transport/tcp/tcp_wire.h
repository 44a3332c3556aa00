// Messages between hosts over TCP, without naps: whoever waits sleeps in the kernel until something
// comes.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tutti/auth/accept_queue.h"
#include "tutti/auth/handshake.h"
#include "tutti/comm/transport/message.h"
#include "tutti/comm/transport/tcp/listener.h"
#include "tutti/comm/transport/tcp/stream.h"

namespace tutti::comm {

// One connection for each pair of ranks that talk, made when both have first posted something: the
// lower rank connects, the higher one listens. Both prove first that they know the secret of the
// job (auth/handshake.h), then say who they are; at an address that belongs to another process this
// fails, and the next one is tried. Connections of unrelated processes are bounded in number and
// time, and have no effect.
class TcpWire : public MessageWire {
 public:
  // `interfaces`: see Listener. Throws CommError when no socket can be had.
  TcpWire(int rank, const auth::Secret& secret, const std::string& interfaces = "");
  ~TcpWire() override;
  TcpWire(const TcpWire&) = delete;
  TcpWire& operator=(const TcpWire&) = delete;

  // What the others need to reach me.
  std::string offer() const { return listener_.text; }
  // To be called once, before any message, with everyone's offer by rank.
  void connect(const std::vector<std::string>& offers);
  // Makes the connections to everybody at once, which all ranks must do. Throws CommError.
  void connect_to_all();

  std::uint64_t events() const override { return events_.load(std::memory_order_acquire); }
  bool wait(std::uint64_t seen, std::int64_t nanoseconds) override;

 private:
  static constexpr const char* kPurpose = "tcp wire";  // of the handshake
  struct Hello {
    std::int32_t from = -1;
    std::int32_t to = -1;
  };
  // A connection that is being made, by this rank, or by another one that has proved to belong to
  // the job.
  struct PendingConnection {
    os::UniqueFd file;  // not open: the next attempt begins at `since_ns`
    int peer = -1;      // -1: not known yet who it is
    bool is_through = false;
    bool was_dropped = false;                       // after it was through
    std::optional<auth::Handshake> handshake = {};  // while it runs
    std::int64_t since_ns = 0;
    std::int64_t first_ns = 0;
    std::size_t next_way = 0;

    short events() const;
  };
  static constexpr std::int64_t kConnectTime = 3'000'000'000;  // for one address
  // A listener that is flooded by others may drop a connection, so it is tried again.
  static constexpr std::int64_t kRetryPause = 20'000'000, kRetryTime = 10'000'000'000;

  MessageEnds& ends_to(int peer) override;
  void progress() override;
  bool progress_connections();
  bool call(Stream& stream);
  void try_next_way(PendingConnection& knock);
  bool admit();
  // False when the knock is over, one way or the other.
  bool advance(PendingConnection& knock);
  // One step further; false when this connection leads nowhere.
  bool step(PendingConnection& knock, bool* is_over);
  bool authenticate(PendingConnection& knock) const;
  bool hear(PendingConnection& knock);
  void establish(PendingConnection& knock);

  const int rank_;
  const auth::Secret secret_;
  Listener listener_;
  auth::AcceptQueue visitors_;      // that have not proved yet that they know the secret
  std::vector<std::string> doors_;  // by rank
  std::map<int, std::unique_ptr<Stream>> streams_;  // of those that were ever talked to
  OwnEnds own_;
  std::vector<PendingConnection> pending_connections_;
  int unconnected_ = 0;  // streams that wait for a connection
  std::atomic<std::uint64_t> events_ = 0;
  os::UniqueFd wake_;  // readable when another thread has moved something
  int sleepers_ = 0;   // threads in `wait`
};

}  // namespace tutti::comm
