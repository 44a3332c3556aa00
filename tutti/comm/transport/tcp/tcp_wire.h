// Messages between hosts over TCP, without naps: whoever waits sleeps in the kernel until something
// comes.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/transport/message.h"
#include "tutti/comm/transport/tcp/door.h"
#include "tutti/comm/transport/tcp/stream.h"

namespace tutti::comm {

// One connection for each pair of ranks that talk, made when both have first posted something: the
// lower rank calls, the higher one opens its door. Both say the number of their job and who they
// are, so that an address that belongs to somebody else is noticed and the next one tried.
class TcpWire : public MessageWire {
 public:
  // `interfaces`: see Door. Throws CommError when no socket can be had.
  explicit TcpWire(int rank, const std::string& interfaces = "");
  ~TcpWire() override;
  TcpWire(const TcpWire&) = delete;
  TcpWire& operator=(const TcpWire&) = delete;

  // What the others need to reach me.
  std::string offer() const;
  // To be called once, before any message, with everyone's offer by rank.
  void connect(const std::vector<std::string>& offers);
  // Makes the connections to everybody at once, which all ranks must do. Throws CommError.
  void connect_to_all();

  std::uint64_t events() const override { return events_.load(std::memory_order_acquire); }
  bool wait(std::uint64_t seen, std::int64_t nanoseconds) override;

 private:
  struct Hello {
    std::uint64_t job = 0;
    std::int32_t from = -1;
    std::int32_t to = -1;
  };
  // A connection that is being made, by me or by somebody at my door.
  struct Knock {
    File file;
    int peer = -1;  // -1: not known yet who it is
    bool is_through = false;
    std::int64_t since_ns = 0;
    std::size_t next_way = 0;
  };
  static constexpr std::int64_t kConnectTime = 3'000'000'000;  // for one address

  MessageEnds& ends_to(int peer) override;
  void progress() override;
  bool progress_connections();
  bool call(Stream& stream);
  void try_next_way(Knock& knock);
  bool admit();
  // False when the knock is over, one way or the other.
  bool advance(Knock& knock);
  bool hear(Knock& knock);
  void establish(Knock& knock);

  const int rank_;
  Door door_;
  std::uint64_t job_ = 0;
  std::vector<std::string> doors_;                  // by rank
  std::map<int, std::unique_ptr<Stream>> streams_;  // of those that were ever talked to
  OwnEnds own_;
  std::vector<Knock> knocks_;
  int unconnected_ = 0;  // streams that wait for a connection
  std::atomic<std::uint64_t> events_ = 0;
  File wake_;         // readable when another thread has moved something
  int sleepers_ = 0;  // threads in `wait`
};

}  // namespace tutti::comm
