// Operation headers (collective fingerprints). Before any data, a rank sends the description of its current operation
// to each peer of its plan. Peers in different operations therefore fail instead of mixing up their messages. Not
// thread-safe; no call blocks.
#pragma once

#include <memory>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/plan/plan.h"

namespace tutti::comm {

class Handshakes {
 public:
  // `rank`: this rank. `wire` must outlive this object.
  Handshakes(Wire& wire, int rank) : wire_(wire), rank_(rank) {}

  // Sends this rank's headers and posts the receives of its peers' headers. `record` must stay alive until `clear`.
  void start(const plan::Plan& plan, const OpRecord& record);
  // Sets `*agreed` if the header of `peer` has arrived. Fails if it describes a different operation.
  Result check(int peer, bool* agreed);
  // Sets `*finished` if no header of this rank is in flight. The record must stay alive until then.
  Result finish(bool* finished);
  void clear();

  // Rank of the member that precedes this rank in the group; wraps around.
  int before(const std::vector<int>& group) const { return neighbour(group, -1); }

 private:
  struct Expected {
    int peer = -1;
    OpRecord record = {};
    std::unique_ptr<Transfer> receiving = nullptr;
  };
  int neighbour(const std::vector<int>& group, int distance) const;
  Expected* find(int peer);

  Wire& wire_;
  const int rank_;
  const OpRecord* record_ = nullptr;
  std::vector<std::unique_ptr<Transfer>> sending_;
  std::vector<std::unique_ptr<Expected>> expected_;
};

}  // namespace tutti::comm
