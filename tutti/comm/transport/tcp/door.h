// Where a rank can be reached over TCP, and in which order others should try.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tutti/topo/network.h"

namespace tutti::comm {

// An open file of the operating system; -1: none.
class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~File() { close(); }
  void close();
  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_ = -1;
};

// Listening sockets, and the text by which others find them: "<port> <boot id> <address> ...".
// `interfaces`: names, separated by commas, of the interfaces to listen on; empty: all that are up.
// The loopback interface is always one of them, and other addresses are not served. All sockets
// have the same port; `port` 0: a free one. Not open when no port is available (errno says why).
struct Door {
  std::vector<File> files;  // not blocking
  std::string text;

  bool is_open() const { return !files.empty(); }
  static Door open(const std::string& interfaces = "", int port = 0);
};

// The addresses in a door's text, the best way first: the loopback when it is this very machine,
// then those in a network that one of my own interfaces is in, the fastest interface first, IPv4
// before IPv6.
std::vector<topo::SocketAddress> ways_to(const std::string& door);

// A connection under way or refused at once; `poll` tells when it is there.
File start_connecting(const topo::SocketAddress& address);
// Whether one that `poll` says is ready has succeeded.
bool has_connected(int file);

void set_socket_option(int file, int level, int option, int value);

}  // namespace tutti::comm
