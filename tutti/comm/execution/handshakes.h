// Operation headers: before any data, a rank sends each peer of its plan the operation it is in, so
// peers in different operations fail instead of mixing their messages.
#pragma once

#include <memory>
#include <vector>

#include "tutti/comm/base/operation.h"
#include "tutti/comm/transport/transport.h"
#include "tutti/plan/plan.h"

namespace tutti::comm {

class Handshakes {
 public:
  // `rank` is this one; `wire` must outlive this.
  Handshakes(Wire& wire, int rank) : wire_(wire), rank_(rank) {}

  // Sends this rank's headers; `record` must stay until `clear`.
  void start(const plan::Plan& plan, const OpRecord& record);
  // Whether the header of `peer` has arrived; fails when it disagrees.
  Result check(int peer, bool* agreed);
  // True when no header of this rank is still in flight: the record must stay until then.
  Result finish(bool* finished);
  void clear();

  // The member of the group before this rank, round it.
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
