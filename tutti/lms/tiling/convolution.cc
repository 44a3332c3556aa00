// Convolutions in slabs of the first spatial dimension, one sample at a time.
//
// Rows are indices of this dimension. One side of a convolution has a window for each row of the other: row r of the
// output of a convolution uses the rows [r s - p, r s - p + (k - 1) d] of its input (stride s, padding p, kernel k,
// dilation d), and row r of the input of a transposed convolution contributes to these rows of its output. A slab is a
// range of rows with the window that belongs to it. Rows of a window outside the tensor are zero padding.
//
//   convolution              output of the slab = convolution of the window
//   its backward             input gradient: the windows of the slabs overlap, so they are added
//   transposed convolution   output: the windows overlap and are added, then the bias
//   its backward             input gradient of the slab = convolution of the window of the output gradient
//
// Gradients of weights and biases are sums over slabs, in double precision.
#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tutti/lms/tiling/operators.h"
#include "tutti/lms/tiling/tile_size.h"
#include "tutti/lms/tiling/tiles.h"

namespace tutti::lms {
namespace {

using at::Tensor;

constexpr std::int64_t kRows = 2;  // the dimension of the slabs

struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

struct Geometry {
  std::vector<std::int64_t> stride, padding, dilation, output_padding;
  bool is_transposed;
  std::int64_t groups;
  std::int64_t kernel;  // in rows

  // In rows of the other side; may exceed it.
  Range window(Range rows) const {
    return {rows.begin * stride[0] - padding[0],
            (rows.end - 1) * stride[0] - padding[0] + (kernel - 1) * dilation[0] + 1};
  }
  // The padding of a slab is part of its window.
  std::vector<std::int64_t> slab_padding() const {
    std::vector<std::int64_t> values = padding;
    values[0] = 0;
    return values;
  }
  std::vector<std::int64_t> slab_output_padding() const {
    std::vector<std::int64_t> values = output_padding;
    if (!values.empty()) values[0] = 0;
    return values;
  }
};

// A list of one value applies to all spatial dimensions.
std::vector<std::int64_t> expanded(const c10::IValue& list, const Tensor& weight) {
  std::vector<std::int64_t> values = list.toIntVector();
  if (values.size() == 1)
    values.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, weight.dim() - 2)), values[0]);
  return values;
}

// `first`: index of the argument `stride`.
Geometry geometry_of(const Call& call, const Tensor& weight, std::size_t first) {
  return {expanded(call[first], weight),
          expanded(call[first + 1], weight),
          expanded(call[first + 2], weight),
          expanded(call[first + 4], weight),
          call[first + 3].toBool(),
          call[first + 5].toInt(),
          weight.size(kRows)};
}

bool is_supported(const Call& call, const Tensor& input, const Tensor& weight,
                  const Geometry& geometry) {
  const auto spatial = static_cast<std::size_t>(std::max<std::int64_t>(0, input.dim() - 2));
  return call.is_plain() && (spatial == 2 || spatial == 3) && weight.dim() == input.dim() &&
         input.numel() > 0 && geometry.stride.size() == spatial &&
         geometry.padding.size() == spatial && geometry.dilation.size() == spatial &&
         geometry.output_padding.size() == spatial;
}

at::MemoryFormat format_of(const Tensor& input, const Tensor& weight) {
  const auto format = input.suggest_memory_format();
  return format != at::MemoryFormat::Contiguous ? format : weight.suggest_memory_format();
}

std::vector<std::int64_t> output_sizes(const Tensor& input, const Tensor& weight,
                                       const Geometry& g) {
  std::vector<std::int64_t> sizes = input.sizes().vec();
  sizes[1] = g.is_transposed ? weight.size(1) * g.groups : weight.size(0);
  for (std::size_t i = 0; i + 2 < sizes.size(); ++i) {
    const std::int64_t extent =
        g.dilation[i] * (weight.size(static_cast<std::int64_t>(i) + 2) - 1) + 1;
    sizes[i + 2] = g.is_transposed ? (sizes[i + 2] - 1) * g.stride[i] - 2 * g.padding[i] + extent +
                                         g.output_padding[i]
                                   : (sizes[i + 2] + 2 * g.padding[i] - extent) / g.stride[i] + 1;
  }
  return sizes;
}

// One side of a convolution: the sizes of a tensor, and its rows of one sample.
struct Side {
  std::vector<std::int64_t> sizes;
  std::int64_t item_bytes;

  explicit Side(const Tensor& tensor)
      : Side(tensor.sizes().vec(), static_cast<std::int64_t>(tensor.itemsize())) {}
  Side(std::vector<std::int64_t> sizes_, std::int64_t item_bytes_)
      : sizes(std::move(sizes_)), item_bytes(item_bytes_) {}

  std::int64_t rows() const { return sizes[kRows]; }
  std::int64_t channels() const { return sizes[1]; }
  std::int64_t row_bytes() const {
    std::int64_t bytes = item_bytes;
    for (std::size_t i = 1; i < sizes.size(); ++i)
      if (static_cast<std::int64_t>(i) != kRows) bytes *= sizes[i];
    return bytes;
  }
};

// Number of slabs: `rows` is the side of the slabs, `windows` the other.
std::int64_t slab_count(const Side& rows, const Side& windows, const Tensor& weight,
                        const Geometry& geometry) {
  std::int64_t bytes = rows.row_bytes() + windows.row_bytes() * geometry.stride[0];
  std::int64_t count = std::max<std::int64_t>(1, tile_bytes() / bytes);
  // libtorch uses im2col for inputs of up to this number of elements in the first four dimensions. Its columns need
  // more memory than the rows that avoid it, unless the tensor is small.
  constexpr std::int64_t kSmallInput = 20480;
  const std::int64_t least =
      kSmallInput / (windows.channels() * geometry.stride[0] * windows.sizes[3]) + 1;
  if (!geometry.is_transposed && count < least) {
    if (least <= rows.rows() && least * bytes <= 2 * tile_bytes()) {
      count = least;
    } else {
      bytes += rows.row_bytes() / rows.channels() * weight.numel() / weight.size(0);
      count = std::max<std::int64_t>(1, tile_bytes() / bytes);
    }
  }
  std::int64_t parts = (rows.rows() - 1) / std::min(count, rows.rows()) + 1;
  if (!geometry.is_transposed && count >= least)  // all slabs have at least this number
    parts = std::clamp<std::int64_t>(rows.rows() / least, 1, parts);
  return parts;
}

std::vector<Range> slabs_of(const Side& rows, const Side& windows, const Tensor& weight,
                            const Geometry& geometry) {
  std::vector<Range> slabs;
  const std::int64_t count = slab_count(rows, windows, weight, geometry);
  for (std::int64_t i = 0; i < count; ++i)
    slabs.push_back({i * rows.rows() / count, (i + 1) * rows.rows() / count});
  return slabs;
}

// Sizes of one sample of `tensor` with `rows` rows.
std::vector<std::int64_t> slab_sizes(const Tensor& tensor, std::int64_t rows) {
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes[0] = 1;
  sizes[kRows] = rows;
  return sizes;
}

Tensor sample_of(const Tensor& tensor, std::int64_t sample) {
  return range_of(tensor, 0, sample, 1);
}

// Dense copies of slabs of one tensor. The memory is reused for the next slab.
class SlabCopy {
 public:
  SlabCopy(const Tensor& tensor, at::MemoryFormat format) : tensor_(tensor), format_(format) {}

  // Rows outside the tensor are 0.
  Tensor of(std::int64_t sample, Range rows) {
    Tensor slab = empty(rows);
    const Range inside{std::max<std::int64_t>(rows.begin, 0),
                       std::min(rows.end, tensor_.size(kRows))};
    if (inside.size() <= 0) {
      zero_in_tiles(slab);
      return slab;
    }
    if (rows.begin < inside.begin)
      zero_in_tiles(range_of(slab, kRows, 0, inside.begin - rows.begin));
    if (inside.end < rows.end)
      zero_in_tiles(range_of(slab, kRows, inside.end - rows.begin, rows.end - inside.end));
    copy_in_tiles(range_of(slab, kRows, inside.begin - rows.begin, inside.size()),
                  range_of(sample_of(tensor_, sample), kRows, inside.begin, inside.size()));
    return slab;
  }
  // Returns a slab with undefined content.
  Tensor empty(Range rows) {
    const auto sizes = slab_sizes(tensor_, rows.size());
    if (!memory_.defined() || memory_.size(kRows) != rows.size()) {
      memory_ = Tensor();  // before the other one is allocated
      memory_ = at::empty(sizes, tensor_.options(), format_);
    }
    return memory_;
  }

 private:
  const Tensor tensor_;
  const at::MemoryFormat format_;
  Tensor memory_;
};

// A tensor that is the sum of overlapping slabs in ascending order. Its memory format is that of the first slab.
class SlabSum {
 public:
  explicit SlabSum(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {}

  void begin_sample(std::int64_t sample) {
    sample_ = sample;
    complete_ = 0;
  }
  // `slab` has the rows `rows`, of which those outside the tensor are ignored.
  void add(const Tensor& slab, Range rows) {
    if (!sum_.defined()) sum_ = at::empty(sizes_, slab.options(), slab.suggest_memory_format());
    const Tensor part = sample_of(sum_, sample_);
    const std::int64_t end = std::min(rows.end, sum_.size(kRows));
    const std::int64_t begin = std::max<std::int64_t>(rows.begin, 0);
    if (begin >= end) return;
    if (begin > complete_) zero(begin);
    const std::int64_t overlap = std::min(complete_, end) - begin;
    if (overlap > 0)
      add_in_tiles(range_of(part, kRows, begin, overlap),
                   range_of(slab, kRows, begin - rows.begin, overlap));
    const std::int64_t first = std::max(complete_, begin);
    if (first < end)
      copy_in_tiles(range_of(part, kRows, first, end - first),
                    range_of(slab, kRows, first - rows.begin, end - first));
    complete_ = std::max(complete_, end);
  }
  void end_sample() {
    if (complete_ < sum_.size(kRows)) zero(sum_.size(kRows));
  }
  const Tensor& sum() const { return sum_; }

 private:
  void zero(std::int64_t end) {
    zero_in_tiles(range_of(sample_of(sum_, sample_), kRows, complete_, end - complete_));
    complete_ = end;
  }

  const std::vector<std::int64_t> sizes_;
  Tensor sum_;
  std::int64_t sample_ = 0;
  std::int64_t complete_ = 0;  // rows of the sample that are written
};

void accumulate(Tensor& sum, const Tensor& part) {
  if (!part.defined()) return;
  if (sum.defined())
    sum.add_(part);
  else
    sum = part.to(at::kDouble);
}

Tensor convolve(const Tensor& slab, const Tensor& weight, const Tensor& bias, const Geometry& g) {
  return at::convolution(slab, weight, bias, g.stride, g.slab_padding(), g.dilation,
                         g.is_transposed, g.slab_output_padding(), g.groups);
}

bool run_forward(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  Call call(op, stack);
  const Tensor input = call.tensor(0), weight = call.tensor(1), bias = call.tensor(2);
  const Geometry geometry = geometry_of(call, weight, 3);
  if (!is_supported(call, input, weight, geometry)) return false;
  const auto sizes = output_sizes(input, weight, geometry);
  if (*std::min_element(sizes.begin(), sizes.end()) <= 0) return false;
  const Side input_side(input), output_side(sizes, input_side.item_bytes);
  if (!call.is_large(output_side.row_bytes() * output_side.rows() * sizes[0])) return false;

  const auto format = format_of(input, weight);
  SlabSum output(sizes);
  SlabCopy copy(input, format);
  const auto slabs = geometry.is_transposed ? slabs_of(input_side, output_side, weight, geometry)
                                            : slabs_of(output_side, input_side, weight, geometry);
  for (std::int64_t sample = 0; sample < input.size(0); ++sample) {
    output.begin_sample(sample);
    for (const Range rows : slabs) {
      const Range window = geometry.window(rows);
      if (geometry.is_transposed)
        output.add(convolve(copy.of(sample, rows), weight, {}, geometry), window);
      else
        output.add(convolve(copy.of(sample, window), weight, bias, geometry), rows);
    }
    output.end_sample();
  }
  if (geometry.is_transposed && bias.defined()) {
    std::vector<std::int64_t> ones(sizes.size(), 1);
    ones[1] = bias.size(0);
    add_in_tiles(output.sum(), bias.view(ones));
  }
  return call.finish({output.sum()});
}

// Sum over all dimensions but the channels.
Tensor channel_sums(const Tensor& tensor) {
  std::vector<std::int64_t> dimensions = {0, 2, 3};
  if (tensor.dim() == 5) dimensions.push_back(4);
  Tensor sums;
  const std::int64_t most =
      std::max<std::int64_t>(1, tile_bytes() / static_cast<std::int64_t>(tensor.itemsize()));
  for (const Tile& tile : tiles_of(tensor.sizes(), tensor.strides(), most, 1))
    accumulate(sums, part_of(tensor, tile, tensor.sizes()).sum(dimensions));
  return sums;
}

bool run_backward(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  Call call(op, stack);
  const Tensor gradient = call.tensor(0), input = call.tensor(1), weight = call.tensor(2);
  const Geometry geometry = geometry_of(call, weight, 4);
  if (!is_supported(call, input, weight, geometry) || !call.is_large(bytes_of(input))) return false;
  std::array<bool, 3> mask = {};
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = call[10].toBoolList().get(i);
  // The windows of transposed convolutions overlap, so their rows must not be summed.
  std::array<bool, 3> slab_mask = mask;
  if (geometry.is_transposed) slab_mask[2] = false;
  const std::vector<std::int64_t> bias_sizes = {gradient.size(1)};

  const auto format = format_of(input, weight);
  std::optional<SlabSum> input_gradient;
  if (mask[0]) input_gradient.emplace(input.sizes().vec());
  Tensor weight_gradient, bias_gradient;
  SlabCopy gradient_copy(gradient, format), input_copy(input, format);
  const auto slabs = geometry.is_transposed
                         ? slabs_of(Side(input), Side(gradient), weight, geometry)
                         : slabs_of(Side(gradient), Side(input), weight, geometry);
  for (std::int64_t sample = 0; sample < input.size(0); ++sample) {
    if (input_gradient) input_gradient->begin_sample(sample);
    for (const Range rows : slabs) {
      const Range window = geometry.window(rows);
      const Range input_rows = geometry.is_transposed ? rows : window;
      const Tensor input_slab =
          mask[1] ? input_copy.of(sample, input_rows) : input_copy.empty(input_rows);
      const auto [of_input, of_weight, of_bias] = at::convolution_backward(
          gradient_copy.of(sample, geometry.is_transposed ? window : rows), input_slab, weight,
          at::IntArrayRef(bias_sizes), geometry.stride, geometry.slab_padding(), geometry.dilation,
          geometry.is_transposed, geometry.slab_output_padding(), geometry.groups, slab_mask);
      if (input_gradient) input_gradient->add(of_input, input_rows);
      accumulate(weight_gradient, of_weight);
      accumulate(bias_gradient, of_bias);
    }
    if (input_gradient) input_gradient->end_sample();
  }
  if (mask[2] && geometry.is_transposed) bias_gradient = channel_sums(gradient);
  const auto in_type = [](const Tensor& sum, const Tensor& like) {
    return sum.defined() ? sum.to(like.scalar_type()) : sum;
  };
  return call.finish({input_gradient ? input_gradient->sum() : Tensor(),
                      in_type(weight_gradient, weight), in_type(bias_gradient, weight)});
}

}  // namespace

std::vector<TiledOperator> convolution_operators() {
  return {{{"aten::convolution", ""}, &run_forward},
          {{"aten::convolution_backward", ""}, &run_backward}};
}

}  // namespace tutti::lms
