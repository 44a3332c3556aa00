// Messages between hosts over TCP. A waiting thread sleeps in ppoll() until data arrives; it never polls in a loop.
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

// There is one connection per pair of ranks that communicate. It is set up when both have posted a first message:
// 1. The lower rank connects to the addresses of the higher one in order of preference (listener.h); the higher rank
//    accepts.
// 2. Both prove that they know the secret of the job (auth/handshake.h).
// 3. Both send a Hello with the two ranks. A mismatch means that the address belongs to another process.
// 4. The socket is passed to the Stream of the peer, which sends the queued messages.
// If an address does not connect within kConnectTime or fails one of the steps, the connecting rank tries the next one.
// After the last address the stream is marked as lost, unless the listener dropped an accepted connection, which
// happens when it is flooded; then all addresses are tried again for up to kRetryTime. Connections from unrelated
// processes are limited in number and time and have no effect.
//
// Thread-safe. All state is protected by the lock of MessageWire.
class TcpWire : public MessageWire {
 public:
  // `interfaces`: see Listener. Throws CommError if no socket can be opened.
  TcpWire(int rank, const auth::Secret& secret, const std::string& interfaces = "");
  ~TcpWire() override;
  TcpWire(const TcpWire&) = delete;
  TcpWire& operator=(const TcpWire&) = delete;

  // Contact string that other ranks need to connect to this one.
  std::string offer() const { return listener_.text; }
  // Sets the contact strings of all ranks, by rank. Call once, before the first message.
  void connect(const std::vector<std::string>& offers);
  // Connects to all ranks immediately. Collective: all ranks must call it. Throws CommError.
  void connect_to_all();

  std::uint64_t events() const override { return events_.load(std::memory_order_acquire); }
  bool wait(std::uint64_t seen, std::int64_t nanoseconds) override;

 private:
  static constexpr const char* kPurpose = "tcp wire";  // authentication context of the handshake
  struct Hello {
    std::int32_t from = -1;
    std::int32_t to = -1;
  };
  // A connection in set-up: started by this rank, or accepted from a process that has proved to belong to the job.
  struct PendingConnection {
    os::UniqueFd file;  // closed: the next attempt starts at `since_ns`
    int peer = -1;      // -1: accepted, Hello not yet received
    bool is_connected = false;
    bool was_dropped = false;                       // by the peer, after TCP had connected
    std::optional<auth::Handshake> handshake = {};  // set while authentication is in progress
    std::int64_t since_ns = 0;
    std::int64_t first_ns = 0;
    std::size_t next_address = 0;

    short events() const;
  };
  static constexpr std::int64_t kConnectTime = 3'000'000'000;  // ns per address
  // A flooded listener may drop a valid connection, so the connecting rank retries.
  static constexpr std::int64_t kRetryPause = 20'000'000, kRetryTime = 10'000'000'000;

  MessageEnds& ends_to(int peer) override;
  void progress() override;
  bool progress_connections();
  bool call(Stream& stream);
  void try_next_address(PendingConnection& pending);
  bool accept_connections();
  // Returns false when the attempt has finished, successfully or not.
  bool advance(PendingConnection& pending);
  // Performs one step of the set-up; returns false if the connection has failed.
  bool step(PendingConnection& pending, bool* is_over);
  bool authenticate(PendingConnection& pending) const;
  bool read_hello(PendingConnection& pending);
  void establish(PendingConnection& pending);

  const int rank_;
  const auth::Secret secret_;
  Listener listener_;
  auth::AcceptQueue unauthenticated_;               // accepted, not yet authenticated
  std::vector<std::string> contacts_;               // contact strings, by rank
  std::map<int, std::unique_ptr<Stream>> streams_;  // ranks communicated with so far
  OwnEnds own_;
  std::vector<PendingConnection> pending_connections_;
  int unconnected_ = 0;  // streams that wait for a connection
  std::atomic<std::uint64_t> events_ = 0;
  os::UniqueFd wake_;  // readable when another thread has moved data
  int sleepers_ = 0;   // threads in `wait`
};

}  // namespace tutti::comm
