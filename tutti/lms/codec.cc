#include "tutti/lms/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace tutti::lms {
namespace {

constexpr std::size_t kGroup = 64;  // elements per bitmap

template <class Value>
Value load(const std::byte* from) {
  Value value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <class Value>
void store(std::byte* to, Value value) {
  std::memcpy(to, &value, sizeof(value));
}

// The elements of type Element, then bytes that do not fill one.
template <class Element>
struct Elements {
  explicit Elements(std::span<const std::byte> bytes)
      : data(bytes.data()),
        count(bytes.size() / sizeof(Element)),
        tail(bytes.size() % sizeof(Element)) {}

  Element operator[](std::size_t index) const {
    return load<Element>(data + index * sizeof(Element));
  }
  std::span<const std::byte> tail_bytes() const { return {data + count * sizeof(Element), tail}; }

  const std::byte* data;
  std::size_t count, tail;
};

std::size_t groups_of(std::size_t count) {
  return (count + kGroup - 1) / kGroup;
}

// Zero suppression. For each group of 64 words: a bitmap of the words that are not 0, and these words. Then the tail.

using Word = std::uint32_t;

std::uint64_t nonzero_bitmap(const Elements<Word>& words, std::size_t first, std::size_t count) {
  std::uint64_t bitmap = 0;
  for (std::size_t index = 0; index < count; ++index) {
    bitmap |= static_cast<std::uint64_t>(words[first + index] != 0) << index;
  }
  return bitmap;
}

std::size_t suppressed_size(std::span<const std::byte> data) {
  const Elements<Word> words(data);
  std::size_t zeros = 0;
  for (std::size_t index = 0; index < words.count; ++index) zeros += words[index] == 0 ? 1 : 0;
  return groups_of(words.count) * sizeof(std::uint64_t) + (words.count - zeros) * sizeof(Word) +
         words.tail;
}

std::size_t suppress_zeros(std::span<const std::byte> data, std::span<std::byte> output) {
  const Elements<Word> words(data);
  std::size_t used = 0;
  for (std::size_t first = 0; first < words.count; first += kGroup) {
    const std::size_t count = std::min(kGroup, words.count - first);
    // Every word is stored, and overwritten by the next one if it is 0, because that is faster than a branch.
    if (output.size() - used < sizeof(std::uint64_t) + (count + 1) * sizeof(Word)) {
      const auto bitmap = nonzero_bitmap(words, first, count);
      const auto values = static_cast<std::size_t>(std::popcount(bitmap)) * sizeof(Word);
      if (output.size() - used < sizeof(bitmap) + values) return 0;
      store(output.data() + used, bitmap);
      used += sizeof(bitmap);
      for (std::uint64_t rest = bitmap; rest != 0; rest &= rest - 1) {
        store(output.data() + used,
              words[first + static_cast<std::size_t>(std::countr_zero(rest))]);
        used += sizeof(Word);
      }
      continue;
    }
    std::byte* const group = output.data() + used;
    std::uint64_t bitmap = 0;
    used += sizeof(bitmap);
    for (std::size_t index = 0; index < count; ++index) {
      const Word word = words[first + index];
      store(output.data() + used, word);
      used += word != 0 ? sizeof(Word) : 0;
      bitmap |= static_cast<std::uint64_t>(word != 0) << index;
    }
    store(group, bitmap);
  }
  if (output.size() - used < words.tail) return 0;
  std::copy_n(words.tail_bytes().begin(), words.tail, output.data() + used);
  return used + words.tail;
}

bool restore_zeros(std::span<const std::byte> stored, std::span<std::byte> data) {
  const Elements<Word> words(data);
  std::size_t used = 0;
  for (std::size_t first = 0; first < words.count; first += kGroup) {
    const std::size_t count = std::min(kGroup, words.count - first);
    if (stored.size() - used < sizeof(std::uint64_t)) return false;
    const auto bitmap = load<std::uint64_t>(stored.data() + used);
    used += sizeof(bitmap);
    const auto values = static_cast<std::size_t>(std::popcount(bitmap)) * sizeof(Word);
    if (stored.size() - used < values || (count < kGroup && bitmap >> count != 0)) return false;
    // Loading the next word and clearing it if it is not stored is faster than a branch, except at the end of the data.
    const bool has_spare_word = stored.size() - used >= values + sizeof(Word);
    for (std::size_t index = 0; index < count; ++index) {
      const Word bit = static_cast<Word>(bitmap >> index & 1);
      Word word = 0;
      if (has_spare_word) {
        word = load<Word>(stored.data() + used) & (Word{0} - bit);
      } else if (bit != 0) {
        word = load<Word>(stored.data() + used);
      }
      used += bit * sizeof(Word);
      store(data.data() + (first + index) * sizeof(Word), word);
    }
  }
  if (stored.size() - used != words.tail) return false;
  std::copy_n(stored.data() + used, words.tail, data.data() + words.count * sizeof(Word));
  return true;
}

// Two values. A header with the element size and both values, one bit per element, and the tail.

struct TwoValues {
  std::uint32_t element_size = 0;  // 0: the data has more than two different values
  std::uint32_t clear = 0, set = 0;
};

template <class Element>
TwoValues find_two_values(std::span<const std::byte> data) {
  const Elements<Element> elements(data);
  if (elements.count == 0) return {};
  const Element clear = elements[0];
  Element set = clear;
  for (std::size_t index = 1; index < elements.count; ++index) {
    const Element element = elements[index];
    if (element == clear || element == set) continue;
    if (set != clear) return {};
    set = element;
  }
  return {sizeof(Element), clear, set};
}

TwoValues two_values_of(std::span<const std::byte> data) {
  const TwoValues words = find_two_values<std::uint32_t>(data);
  return words.element_size != 0 ? words : find_two_values<std::uint8_t>(data);
}

std::size_t bits_size(const TwoValues& values, std::size_t bytes) {
  if (values.element_size == 0) return 0;
  const std::size_t count = bytes / values.element_size;
  return sizeof(TwoValues) + groups_of(count) * sizeof(std::uint64_t) + bytes % values.element_size;
}

template <class Element>
void pack_bits(const TwoValues& values, std::span<const std::byte> data, std::byte* output) {
  const Elements<Element> elements(data);
  for (std::size_t first = 0; first < elements.count; first += kGroup) {
    const std::size_t count = std::min(kGroup, elements.count - first);
    std::uint64_t bitmap = 0;
    for (std::size_t index = 0; index < count; ++index) {
      bitmap |= static_cast<std::uint64_t>(elements[first + index] != values.clear) << index;
    }
    store(output, bitmap);
    output += sizeof(bitmap);
  }
  std::copy_n(elements.tail_bytes().begin(), elements.tail, output);
}

std::size_t pack_two_values(std::span<const std::byte> data, std::span<std::byte> output) {
  const TwoValues values = two_values_of(data);
  const std::size_t size = bits_size(values, data.size());
  if (size == 0 || size > output.size()) return 0;
  store(output.data(), values);
  if (values.element_size == 1) {
    pack_bits<std::uint8_t>(values, data, output.data() + sizeof(values));
  } else {
    pack_bits<std::uint32_t>(values, data, output.data() + sizeof(values));
  }
  return size;
}

template <class Element>
void unpack_bits(const TwoValues& values, const std::byte* stored, std::span<std::byte> data) {
  const std::size_t count = data.size() / sizeof(Element);
  const auto clear = static_cast<Element>(values.clear), set = static_cast<Element>(values.set);
  for (std::size_t first = 0; first < count; first += kGroup) {
    const auto bitmap = load<std::uint64_t>(stored);
    stored += sizeof(bitmap);
    const std::size_t end = std::min(kGroup, count - first);
    for (std::size_t index = 0; index < end; ++index) {
      store(data.data() + (first + index) * sizeof(Element),
            (bitmap >> index & 1) != 0 ? set : clear);
    }
  }
  std::copy_n(stored, data.size() % sizeof(Element), data.data() + count * sizeof(Element));
}

bool unpack_two_values(std::span<const std::byte> stored, std::span<std::byte> data) {
  if (stored.size() < sizeof(TwoValues)) return false;
  const auto values = load<TwoValues>(stored.data());
  if (values.element_size != 1 && values.element_size != 4) return false;
  if (stored.size() != bits_size(values, data.size())) return false;
  const std::byte* const bits = stored.data() + sizeof(values);
  if (values.element_size == 1) {
    unpack_bits<std::uint8_t>(values, bits, data);
  } else {
    unpack_bits<std::uint32_t>(values, bits, data);
  }
  return true;
}

// Narrow integers. A header with the smallest value and the width, each integer minus the smallest, and the tail.

struct Narrow {
  std::int64_t smallest = 0;
  std::uint64_t width = 0;  // bytes; 0: the range is too large
};

Narrow narrow_of(std::span<const std::byte> data) {
  const Elements<std::int64_t> integers(data);
  if (integers.count == 0) return {};
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  std::int64_t largest = std::numeric_limits<std::int64_t>::min();
  for (std::size_t index = 0; index < integers.count; ++index) {
    smallest = std::min(smallest, integers[index]);
    largest = std::max(largest, integers[index]);
  }
  const std::uint64_t range =
      static_cast<std::uint64_t>(largest) - static_cast<std::uint64_t>(smallest);
  if (range > std::numeric_limits<std::uint32_t>::max()) return {};
  return {smallest, range > 0xffff ? 4U : range > 0xff ? 2U : 1U};
}

std::size_t narrow_size(const Narrow& narrow, std::size_t bytes) {
  if (narrow.width == 0) return 0;
  return sizeof(Narrow) + bytes / sizeof(std::int64_t) * narrow.width +
         bytes % sizeof(std::int64_t);
}

template <class Element>
void narrow_integers(std::int64_t smallest, std::span<const std::byte> data, std::byte* output) {
  const Elements<std::int64_t> integers(data);
  for (std::size_t index = 0; index < integers.count; ++index) {
    const auto offset =
        static_cast<std::uint64_t>(integers[index]) - static_cast<std::uint64_t>(smallest);
    store(output + index * sizeof(Element), static_cast<Element>(offset));
  }
  std::copy_n(integers.tail_bytes().begin(), integers.tail,
              output + integers.count * sizeof(Element));
}

template <class Element>
void widen_integers(std::int64_t smallest, const std::byte* stored, std::span<std::byte> data) {
  const std::size_t count = data.size() / sizeof(std::int64_t);
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint64_t offset = load<Element>(stored + index * sizeof(Element));
    store(data.data() + index * sizeof(std::int64_t),
          static_cast<std::uint64_t>(smallest) + offset);
  }
  std::copy_n(stored + count * sizeof(Element), data.size() % sizeof(std::int64_t),
              data.data() + count * sizeof(std::int64_t));
}

std::size_t narrow_all(std::span<const std::byte> data, std::span<std::byte> output) {
  const Narrow narrow = narrow_of(data);
  const std::size_t size = narrow_size(narrow, data.size());
  if (size == 0 || size > output.size()) return 0;
  store(output.data(), narrow);
  std::byte* const body = output.data() + sizeof(narrow);
  switch (narrow.width) {
    case 1: narrow_integers<std::uint8_t>(narrow.smallest, data, body); break;
    case 2: narrow_integers<std::uint16_t>(narrow.smallest, data, body); break;
    default: narrow_integers<std::uint32_t>(narrow.smallest, data, body);
  }
  return size;
}

bool widen_all(std::span<const std::byte> stored, std::span<std::byte> data) {
  if (stored.size() < sizeof(Narrow)) return false;
  const auto narrow = load<Narrow>(stored.data());
  if (narrow.width != 1 && narrow.width != 2 && narrow.width != 4) return false;
  if (stored.size() != narrow_size(narrow, data.size())) return false;
  const std::byte* const body = stored.data() + sizeof(narrow);
  switch (narrow.width) {
    case 1: widen_integers<std::uint8_t>(narrow.smallest, body, data); break;
    case 2: widen_integers<std::uint16_t>(narrow.smallest, body, data); break;
    default: widen_integers<std::uint32_t>(narrow.smallest, body, data);
  }
  return true;
}

}  // namespace

std::int64_t encode(Codec codec, std::span<const std::byte> data, std::span<std::byte> output) {
  std::size_t size = 0;
  switch (codec) {
    case Codec::kNone: break;
    case Codec::kZeroSuppressed: size = suppress_zeros(data, output); break;
    case Codec::kBits: size = pack_two_values(data, output); break;
    case Codec::kNarrowInt64: size = narrow_all(data, output); break;
  }
  return static_cast<std::int64_t>(size);
}

Result decode(Codec codec, std::span<const std::byte> stored, std::span<std::byte> data) {
  bool is_complete = false;
  switch (codec) {
    case Codec::kNone: break;
    case Codec::kZeroSuppressed: is_complete = restore_zeros(stored, data); break;
    case Codec::kBits: is_complete = unpack_two_values(stored, data); break;
    case Codec::kNarrowInt64: is_complete = widen_all(stored, data); break;
  }
  if (is_complete) return Result::ok();
  return Result::failure(
      ErrorKind::kIo, "DDL-5-64",
      fmt::format("An encoded block ({}, {} bytes) does not decode to {} bytes. Check the disk "
                  "of the swap file.",
                  name_of(codec), stored.size(), data.size()));
}

std::int64_t encoded_size(Codec codec, std::span<const std::byte> data) {
  std::size_t size = 0;
  switch (codec) {
    case Codec::kNone: break;
    case Codec::kZeroSuppressed: size = suppressed_size(data); break;
    case Codec::kBits: size = bits_size(two_values_of(data), data.size()); break;
    case Codec::kNarrowInt64: size = narrow_size(narrow_of(data), data.size()); break;
  }
  return static_cast<std::int64_t>(size);
}

Encoding choose_codec(std::span<const std::byte> data) {
  Encoding best = {Codec::kNone, static_cast<std::int64_t>(data.size() - data.size() / 4)};
  for (const Codec codec : {Codec::kBits, Codec::kNarrowInt64, Codec::kZeroSuppressed}) {
    const std::int64_t bytes = encoded_size(codec, data);
    if (bytes > 0 && bytes < best.bytes) best = {codec, bytes};
  }
  return best.codec == Codec::kNone ? Encoding{} : best;
}

}  // namespace tutti::lms
