// All-reduce with fewer bytes on the wire.
//
// Where hosts are even, only what travels between them is compressed: the ranks of a host
// reduce-scatter their vectors in full precision, then rank i of every host (a rail) exchanges its
// slice in compressed form, and the host gathers again. Otherwise all ranks are one rail. On a rail
// of R ranks with n values each:
//   bf16, f16  the all-reduce of the 16-bit values, folded in f32: half the bytes; in chunks, so
//              that hosts reduce and gather while the rail is busy.
//   int8       each rank sends every other its piece, n/R values as blocks, folds what it gets in
//   f32, and sends the result
//              as blocks to all: 2 (R-1)/R n bytes instead of eight times n (R-1)/R.
//   topk       each rank sends its largest values to all, who add them up.
// What int8 and top-k leave out is kept by name and goes with the next call of that name.
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

  // The communicators that it uses.
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
  // A piece of the vector on its way.
  struct Chunk {
    Buffer all;
    std::vector<std::int64_t> pieces;  // of it, by rank of the host
    std::span<float> mine;             // the one of this rank: `slice`, or all without hosts
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
  void divide(std::span<float> values) const;  // by the number of all ranks

  static constexpr std::int64_t kChunk = std::int64_t{1} << 17;  // values of one rank

  const int ranks_;
  std::unique_ptr<Communicator> host_;  // nullptr: all ranks are one rail
  std::unique_ptr<Communicator> rail_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, Residuals> residuals_;
  std::array<Chunk, 4> chunks_;  // kept from call to call,
  std::vector<float> slice_;     // as is this
};

}  // namespace tutti::comm
