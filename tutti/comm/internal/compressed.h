// Compressed all-reduce: fewer bytes on the network.
//
// If all hosts have the same number of ranks, only the data between hosts is compressed. The ranks of a host
// reduce-scatter their vectors in full precision, rank i of every host (a rail) exchanges its slice in compressed form,
// and the host all-gathers the result. Otherwise all ranks form one rail. On a rail of R ranks with n values each:
// - bf16, f16: all-reduce of the 16-bit values, reduced in f32. Half the bytes of f32. In chunks, so hosts reduce and
//   gather while the rail transfers.
// - int8: each rank sends every other rank its piece of n/R values as blocks, reduces the received pieces in f32 and
//   sends the result as blocks to all ranks: 2 (R-1)/R n bytes instead of 8 (R-1)/R n.
// - topk: each rank sends its largest values to all ranks, which add them up.
// The residuals of int8 and top-k are stored by name and added to the next call with that name.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tutti/comm/communicator.h"
#include "tutti/comm/compression.h"

namespace tutti::comm {

class CompressedReducer {
 public:
  // Collective: splits `whole` into hosts and rails.
  explicit CompressedReducer(Communicator& whole);

  // The communicators it uses.
  std::vector<Communicator*> parts() const {
    return {rail_.get(), host_ ? host_.get() : rail_.get()};
  }

  // `input` and `output` are f32; kSum and kAverage only. Blocking; one call at a time.
  void all_reduce(ConstBuffer input, Buffer output, ReduceOp op, const Codec& codec,
                  const std::string& name);

 private:
  struct Residuals {
    std::vector<float> of_input;
    std::vector<float> of_result;
  };
  // A chunk of the vector in flight.
  struct Chunk {
    Buffer all;
    std::vector<std::int64_t> pieces;  // elements of each rank of the host
    std::span<float> mine;             // piece of this rank: `slice`, or all without hosts
    std::vector<float> slice;
    std::vector<std::byte> wire;
    Work travel;
  };
  void reduce_halves(Buffer output, ReduceOp op, const Codec& codec, const std::string& name);
  void send(Chunk& chunk, const Codec& codec, const std::string& name);
  void reduce_on_rail(std::span<float> values, ReduceOp op, const Codec& codec,
                      Residuals& residuals);
  void reduce_blocks(std::span<float> values, const Codec& codec, Residuals& residuals);
  void reduce_largest(std::span<float> values, const Codec& codec, Residuals& residuals);
  void divide(std::span<float> values) const;  // divides by the number of all ranks

  static constexpr std::int64_t kChunk = std::int64_t{1} << 17;  // values per rank

  const int ranks_;
  std::unique_ptr<Communicator> host_;  // nullptr: all ranks are one rail
  std::unique_ptr<Communicator> rail_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, Residuals> residuals_;
  std::array<Chunk, 4> chunks_;  // this and the next are reused by all calls
  std::vector<float> slice_;
};

}  // namespace tutti::comm
