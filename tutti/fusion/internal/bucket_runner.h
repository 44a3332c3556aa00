// Runs the buckets of one rank, in the order in which the root gave them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/fusion/call.h"
#include "tutti/fusion/timeline.h"

namespace tutti::fusion {

// A bucket's member on this rank; `call` is nothing when the rank has joined: it brings zeros.
struct Member {
  const Report* report = nullptr;
  const Call* call = nullptr;
  Gathered* gathered = nullptr;
};

// An all_reduce of several tensors gathers them in library memory, unless they lie one behind the
// other in memory that may be reduced in place: then nothing is copied. For one thread.
class BucketRunner {
 public:
  // Both must outlive it.
  BucketRunner(comm::Communicator& communicator, Timeline& timeline)
      : communicator_(communicator), timeline_(timeline) {}
  ~BucketRunner();
  BucketRunner(const BucketRunner&) = delete;
  BucketRunner& operator=(const BucketRunner&) = delete;

  // Throws what the communicator throws.
  void run(const std::vector<Member>& bucket);
  std::int64_t copied_bytes() const { return copied_bytes_; }

 private:
  struct Piece {
    ConstBuffer input;  // no data: zeros
    Buffer output;
  };
  void all_reduce(const std::vector<Member>& bucket);
  void reduce_in_place(const Member& member, Buffer whole);
  void reduce_one(const Member& member, const Piece& piece);
  void reduce_packed(const Member& member, const std::vector<Piece>& pieces, std::int64_t count);
  void adasum(const Member& member);
  void all_gather(const Member& member);
  void broadcast(const Member& member);
  void all_to_all(const Member& member);
  void reduce_scatter(const Member& member);
  // Library memory of at least so many bytes, until the next call.
  void* memory(std::size_t bytes);

  comm::Communicator& communicator_;
  Timeline& timeline_;
  void* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
  std::int64_t copied_bytes_ = 0;
};

}  // namespace tutti::fusion
