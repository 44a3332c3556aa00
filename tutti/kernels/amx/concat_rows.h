// Layout of bf16 images for the AMX kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace tutti::kernels {

using Bf16 = std::uint16_t;  // bit pattern

// Allocates memory aligned to cache lines: tile loads take twice as long if rows are not aligned. Elements are not
// initialised, because clearing them would take as long as some layers.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  explicit LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* values, std::size_t) { ::operator delete(values, kLine); }
  template <class U>
  void construct(U* value) {
    ::new (static_cast<void*>(value)) U;
  }
  template <class U, class... Values>
  void construct(U* value, Values&&... values) {
    ::new (static_cast<void*>(value)) U(std::forward<Values>(values)...);
  }
  bool operator==(const LineAllocator&) const { return true; }
  static constexpr std::align_val_t kLine{64};
};
template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

// A subset of the channels of a batch of images. Channels are contiguous; the last three members are strides in values.
struct Slice {
  Bf16* data = nullptr;
  std::int64_t channels = 0, pixel = 0, row = 0, image = 0;
  Bf16* at(std::int64_t n, std::int64_t y) const { return data + n * image + y * row; }
};

// Copies `width` pixels of `channels` channels; `from_pixel` and `to_pixel` are strides in values.
void copy_pixels(const Bf16* from, std::int64_t from_pixel, Bf16* to, std::int64_t to_pixel,
                 std::int64_t channels, std::int64_t width);

// A view of a batch of images that concatenates the channels of all slices and stacks the images vertically into one
// tall image, with zero rows after each.
struct ConcatRows {
  std::vector<Slice> slices;
  std::int64_t images = 0, height = 0, width = 0;  // as read
  std::int64_t step = 1;     // slices hold every step-th pixel and row; zeros are read between them
  Slice sign = {};           // zeros are read where this is not positive; empty: no mask
  std::int64_t between = 0;  // zero rows after each image

  std::int64_t channels() const;
  std::int64_t image_pitch() const { return height + between; }
  std::int64_t rows() const { return images * image_pitch(); }  // of the tall image
  // True if the row exists and may contain non-zero values.
  bool has_row(std::int64_t y) const {
    return y >= 0 && y < rows() && y % image_pitch() < height && y % image_pitch() % step == 0;
  }
  // Reads `width` pixels of all channels of an existing row. `to` must be zero at pixels skipped by `step`.
  void read(std::int64_t y, Bf16* to) const;
};

// Consecutive rows of an image with zero pixels between them: a one-dimensional band of pixels. An access up to `gap`
// pixels beyond the end of a row reads zeros. Row r begins at pixel gap + r * pitch().
class Band {
 public:
  // At most `rows` rows. Each pixel has `channels` values, zero-padded; `tail` zeros follow the last pixel read.
  Band(const ConcatRows& source, std::int64_t rows, std::int64_t gap, std::int64_t channels,
       std::int64_t tail);

  // Reads `count` rows starting at `first`; rows that do not exist are filled with zeros.
  void read(std::int64_t first, std::int64_t count);

  std::int64_t pitch() const { return pitch_; }
  const Bf16* row(std::int64_t r) const { return values_.data() + (gap_ + r * pitch_) * channels_; }
  const Bf16* data() const { return values_.data(); }

 private:
  const ConcatRows& source_;
  const std::int64_t gap_, channels_, pitch_, tail_;
  LineVector<Bf16> values_, narrow_;
};

// Interleaves pixels: (pixels, channels) -> (channels / 16, pixels / 2, 16, 2), so the values of two neighbouring
// pixels are adjacent for each channel, as the right operand of AMX requires. `pixels` is even, `channels` a multiple
// of 16; `tile` is the stride in values between groups of 16 channels.
void pair_pixels(const Bf16* row, Bf16* paired, std::int64_t pixels, std::int64_t channels,
                 std::int64_t tile);
// Transposes that layout to (channels, pixels). `length` is the stride in values between channels; `pixels` is a
// multiple of 32.
void transpose_pairs(const Bf16* paired, Bf16* transposed, std::int64_t pixels,
                     std::int64_t channels, std::int64_t tile, std::int64_t length);

}  // namespace tutti::kernels
