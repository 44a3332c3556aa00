// Executes the buckets of one rank on its communicator.
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

// A member of a bucket on this rank. `call` is null if the rank has joined; it then contributes zeros.
struct Member {
  const Report* report = nullptr;
  const Call* call = nullptr;
  Gathered* gathered = nullptr;
};

// An all_reduce of several tensors packs them into library-allocated memory. If they are contiguous and may be reduced
// in place, nothing is copied. Not thread-safe.
class BucketRunner {
 public:
  // Both must outlive this object.
  BucketRunner(comm::Communicator& communicator, Timeline& timeline)
      : communicator_(communicator), timeline_(timeline) {}
  ~BucketRunner();
  BucketRunner(const BucketRunner&) = delete;
  BucketRunner& operator=(const BucketRunner&) = delete;

  // Executes the bucket. Propagates the exceptions of the communicator.
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
  // Returns library-allocated memory of at least `bytes` bytes, valid until the next call.
  void* memory(std::size_t bytes);

  comm::Communicator& communicator_;
  Timeline& timeline_;
  void* memory_ = nullptr;
  std::size_t memory_bytes_ = 0;
  std::int64_t copied_bytes_ = 0;
};

}  // namespace tutti::fusion
