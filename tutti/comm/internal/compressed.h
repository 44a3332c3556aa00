// All-reduce with fewer bytes on the wire.
//
// Where hosts are even, only what travels between them is compressed: the ranks of a host
// reduce-scatter their vectors in full precision, then rank i of every host (a rail) exchanges its
// slice in compressed form, and the host gathers again. Otherwise all ranks are one rail. On a rail
// of R ranks with n values each:
//   bf16, f16  the all-reduce of the 16-bit values, folded in f32: half the bytes.
//   int8       each rank sends every other its piece, n/R values as blocks, folds what it gets in
//   f32, and sends the result
//              as blocks to all: 2 (R-1)/R n bytes instead of eight times n (R-1)/R.
//   topk       each rank sends its largest values to all, who add them up.
// What int8 and top-k leave out is kept by name and goes with the next call of that name.
#pragma once

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

  // `input` and `output` are f32; kSum and kAverage only. Blocking; one call at a time.
  void all_reduce(ConstBuffer input, Buffer output, ReduceOp op, const Codec& codec,
                  const std::string& name);

 private:
  struct Residuals {
    std::vector<float> of_input;
    std::vector<float> of_result;
  };
  void reduce_on_rail(std::span<float> values, const Codec& codec, Residuals& residuals);
  void reduce_halves(std::span<float> values, const Codec& codec);
  void reduce_blocks(std::span<float> values, const Codec& codec, Residuals& residuals);
  void reduce_largest(std::span<float> values, const Codec& codec, Residuals& residuals);

  static constexpr std::size_t kChunk = std::size_t{1} << 20;  // values encoded at a time

  const int ranks_;
  std::unique_ptr<Communicator> host_;  // nullptr: all ranks are one rail
  std::unique_ptr<Communicator> rail_;
  std::map<std::tuple<std::string, std::string, std::int64_t>, Residuals> residuals_;
  std::vector<float> slice_;     // kept from call to call,
  std::vector<std::byte> wire_;  // as is this
};

}  // namespace tutti::comm
