#pragma once

#include <cstdint>

namespace tutti::kernels {

// Shape of a 2-D convolution with an odd kernel size and "same" zero padding.
struct ConvShape {
  std::int64_t images, height, width;  // of the input
  std::int64_t in, out, kernel;        // channels of input and output; side of the kernel
  std::int64_t stride = 1, dilation = 1;

  std::int64_t out_height() const { return (height - 1) / stride + 1; }
  std::int64_t out_width() const { return (width - 1) / stride + 1; }
  std::int64_t reach() const { return kernel / 2 * dilation; }  // pixels to each side
};

}  // namespace tutti::kernels
