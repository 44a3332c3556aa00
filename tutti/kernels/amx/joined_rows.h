// Rows of pictures in bf16 as the kernels of matrix units want them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace tutti::kernels {

using Bf16 = std::uint16_t;  // its bits

// Memory for tiles, which are loaded by lines of the cache: twice as slowly when their rows do not
// begin with one. What is not given a value has none: clearing would take as long as some layers.
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

// Some channels of a batch of pictures. Channels lie beside each other; pixels, rows and pictures
// are so many values apart.
struct Slice {
  Bf16* data = nullptr;
  std::int64_t channels = 0, pixel = 0, row = 0, picture = 0;
  Bf16* at(std::int64_t n, std::int64_t y) const { return data + n * picture + y * row; }
};

// Copies `width` pixels of so many channels from one place to another.
void copy_pixels(const Bf16* from, std::int64_t from_pixel, Bf16* to, std::int64_t to_pixel,
                 std::int64_t channels, std::int64_t width);

// A batch of pictures that is read as if the channels of all slices were joined, and as if the
// pictures were one tall picture, with rows of zeros after each.
struct JoinedRows {
  std::vector<Slice> slices;
  std::int64_t pictures = 0, height = 0, width = 0;  // as read
  std::int64_t step = 1;  // slices have every step-th pixel and row; between them zeros are read
  Slice sign = {};        // where these are not positive, zeros are read; none: everything is read
  std::int64_t between = 0;  // rows after each picture

  std::int64_t channels() const;
  std::int64_t picture_pitch() const { return height + between; }
  std::int64_t rows() const { return pictures * picture_pitch(); }  // of the tall picture
  // Whether that row is there and may have values that are not zero.
  bool has_row(std::int64_t y) const {
    return y >= 0 && y < rows() && y % picture_pitch() < height && y % picture_pitch() % step == 0;
  }
  // `width` pixels of all channels of a row that is there. `to` must be zero where `step` leaves
  // gaps.
  void read(std::int64_t y, Bf16* to) const;
};

// Some rows of a picture one behind the other, with zeros between, so that who steps over the end
// of a row, up to `gap` pixels, meets zeros: a band of pixels with one dimension. Row r begins at
// pixel gap + r * pitch().
class Band {
 public:
  // At most `rows` rows. Every pixel gets `channels` values, filled up with zeros; behind the last
  // one that was read there are `tail` zeros more.
  Band(const JoinedRows& source, std::int64_t rows, std::int64_t gap, std::int64_t channels,
       std::int64_t tail);

  // Takes `count` rows from `first` on; those that are not there are zeros.
  void read(std::int64_t first, std::int64_t count);

  std::int64_t pitch() const { return pitch_; }
  const Bf16* row(std::int64_t r) const { return values_.data() + (gap_ + r * pitch_) * channels_; }
  const Bf16* data() const { return values_.data(); }

 private:
  const JoinedRows& source_;
  const std::int64_t gap_, channels_, pitch_, tail_;
  LineVector<Bf16> values_, narrow_;
};

// (pixels, channels) -> (channels / 16, pixels / 2, 16, 2): for every 16 channels, the values of
// two neighbours beside each other. `pixels` is even, `channels` a multiple of 16; a tile of
// channels begins `tile` values after the one before.
void pair_pixels(const Bf16* row, Bf16* paired, std::int64_t pixels, std::int64_t channels,
                 std::int64_t tile);
// From there to (channels, pixels), a channel `length` values after the one before; `pixels` is a
// multiple of 32.
void turn_pairs(const Bf16* paired, Bf16* turned, std::int64_t pixels, std::int64_t channels,
                std::int64_t tile, std::int64_t length);

}  // namespace tutti::kernels
