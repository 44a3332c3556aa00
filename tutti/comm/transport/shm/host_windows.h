// Memory that the members of a host map from each other while they run a plan, and the host barriers between its steps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/comm/transport/shm/host_group.h"

namespace tutti::comm {

class HostWindows {
 public:
  // `host` must outlive the windows.
  explicit HostWindows(HostGroup& host) : host_(host) {}

  // Publishes the location of this rank's memory. Each of the three is in its arena, or nullptr if the plan does not
  // use it.
  void open(const OpRecord& record, const void* input, void* output, void* scratch) {
    RankBlock& mine = host_.mine();
    mine.plan_fingerprints[++turn_ % 2] = record.fingerprint();
    mine.post.input = host_.location_of(input, 0);
    mine.post.output = host_.location_of(output, 0);
    mine.scratch = host_.location_of(scratch, 0);
  }
  // The memory of a member, known after the first host barrier with it.
  Result window(int member, plan::Space space, std::byte** address) {
    const RankBlock& theirs = block(member);
    if (space == plan::Space::kScratch) return host_.resolve(member, theirs.scratch, address);
    const bool is_input = space == plan::Space::kInput;
    return host_.resolve(member, is_input ? theirs.post.input : theirs.post.output, address);
  }
  Result check_fingerprint(int member, const OpRecord& record) const {
    const bool agrees = block(member).plan_fingerprints[turn_ % 2] == record.fingerprint();
    return agrees ? Result::ok() : host_.mismatch(member, record);
  }
  void arrive(int lane, std::uint32_t count) { raise_flag(host_.mine().lanes[lane], count); }
  bool has_arrived(int member, int lane, std::uint32_t count) const {
    return has_reached(block(member).lanes[lane], count);
  }
  // Sleeps until the member has arrived, at most one interval of the stall handler.
  void await_arrival(int member, int lane, std::uint32_t count) {
    wait_asleep(block(member).lanes[lane], count, StallHandler::kInterval);
  }

 private:
  RankBlock& block(int member) const { return host_.control_block().block(member); }

  HostGroup& host_;
  std::uint32_t turn_ = 0;
};

}  // namespace tutti::comm
