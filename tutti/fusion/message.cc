#include "tutti/fusion/message.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "tutti/core/error.h"

// Wire format of the negotiation. Messages are sent many times per training step, so they are compact: integers are
// varints with zigzag encoding for signed values, scales are byte-swapped so that common values are short, and cached
// reports are bits of a bit vector. Structures are encoded field by field, without tags; all ranks run the same
// version. One function `field` per type describes both directions: with a Writer it encodes, with a Reader it decodes.
// A Reader checks every length against the remaining bytes, so a damaged message throws DDL-4-70 and cannot cause a
// large allocation.
namespace tutti::fusion {
namespace {

constexpr std::array kKindNames = {"all_reduce", "adasum",         "all_gather", "broadcast",
                                   "all_to_all", "reduce_scatter", "barrier",    "timeline"};

// Writer and Reader have the same interface, so one description covers both directions of the wire format.
class Writer {
 public:
  static constexpr bool kReads = false;
  // Variable-length integer, seven bits per byte.
  void number(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  void text(const std::string& value) {
    number(value.size());
    bytes_ += value;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      require(at_ < bytes_.size());
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    require(false);
    return 0;
  }
  std::string text() {
    const std::uint64_t length = number();
    require(length <= bytes_.size() - at_);
    at_ += length;
    return bytes_.substr(at_ - length, length);
  }
  // A list cannot have more members than there are bytes left in the message.
  std::uint64_t length() {
    const std::uint64_t value = number();
    require(value <= bytes_.size() - at_);
    return value;
  }
  void finish() const { require(at_ == bytes_.size()); }

 private:
  static void require(bool is_right) {
    if (!is_right)
      throw CommError("DDL-4-70",
                      "A control message of the fusion engine cannot be read. Install the same "
                      "version on all hosts.");
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

// `field(stream, value)` writes the value, or reads it.
template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
void field(Writer& out, T& value) {
  const auto wide = static_cast<std::int64_t>(value);  // zigzag: keeps -1 short
  out.number((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
}
template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
void field(Reader& in, T& value) {
  const std::uint64_t zigzag = in.number();
  value = static_cast<T>(static_cast<std::int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1)));
}
void field(Writer& out, std::string& value) {
  out.text(value);
}
void field(Reader& in, std::string& value) {
  value = in.text();
}
template <class Stream>
void field(Stream& stream, double& value) {
  // Scales are mostly 1 or small powers of two; byte-swapped they are short varints.
  auto bits = std::bit_cast<std::uint64_t>(value);
  bits = __builtin_bswap64(bits);
  field(stream, bits);
  value = std::bit_cast<double>(__builtin_bswap64(bits));
}
template <class Stream, class T>
void field(Stream& stream, std::vector<T>& values);

template <class Stream>
void field(Stream& stream, Signature& s) {
  field(stream, s.kind);
  field(stream, s.dtype);
  field(stream, s.op);
  field(stream, s.root);
  field(stream, s.counts);
  field(stream, s.prescale);
  field(stream, s.postscale);
  field(stream, s.compression);
  field(stream, s.shape);
  field(stream, s.no_fusion);
}
template <class Stream>
void field(Stream& stream, Report& r) {
  field(stream, r.name);
  field(stream, r.signature);
  field(stream, r.priority);
  field(stream, r.is_cacheable);
  field(stream, r.rank);
  field(stream, r.trouble);
}
template <class Stream>
void field(Stream& stream, Late& l) {
  field(stream, l.name);
  field(stream, l.missing);
}
template <class Stream>
void field(Stream& stream, Item& i) {
  field(stream, i.known);
  if (i.known != Item::kUnknown) return;
  field(stream, i.is_remembered);
  field(stream, i.report);
}
template <class Stream>
void field(Stream& stream, DownMessage::Failure& f) {
  field(stream, f.name);
  field(stream, f.code);
  field(stream, f.text);
  field(stream, f.is_timeout);
}
template <class Stream, class T>
void field(Stream& stream, std::vector<T>& values) {
  if constexpr (Stream::kReads) {
    values.resize(stream.length());
  } else {
    stream.number(values.size());
  }
  for (T& value : values) field(stream, value);
}

// Sorted indices as a bit vector: the index of the first word, then 64 indices per word.
void known_field(Writer& out, std::vector<std::uint32_t>& known) {
  std::vector<std::uint64_t> description;
  std::uint32_t first = 0;
  if (!known.empty()) {
    const auto [low, high] = std::minmax_element(known.begin(), known.end());
    first = *low / 64;
    description.resize(*high / 64 - first + 1);
    for (const std::uint32_t number : known)
      description[number / 64 - first] |= 1ull << (number % 64);
  }
  out.number(first);
  out.number(description.size());
  for (const std::uint64_t word : description) out.number(word);
}
void known_field(Reader& in, std::vector<std::uint32_t>& known) {
  const std::uint64_t first = in.number();
  const std::uint64_t description = in.length();
  for (std::uint64_t w = 0; w < description; ++w) {
    for (std::uint64_t word = in.number(); word != 0; word &= word - 1) {
      known.push_back(static_cast<std::uint32_t>((first + w) * 64 +
                                                 static_cast<unsigned>(std::countr_zero(word))));
    }
  }
}

template <class Stream>
void field(Stream& stream, UpMessage& m) {
  known_field(stream, m.known);
  field(stream, m.reports);
  field(stream, m.late);
  field(stream, m.joined);
  field(stream, m.left);
}
template <class Stream>
void field(Stream& stream, DownMessage& m) {
  field(stream, m.buckets);
  field(stream, m.failures);
  field(stream, m.last_joined);
  field(stream, m.left);
  field(stream, m.is_end);
}

template <class Message>
std::string encoded(const Message& message) {
  Writer out;
  field(out, const_cast<Message&>(message));  // a Writer only reads
  return out.take();
}

template <class Message>
Message decoded(const std::string& bytes) {
  Reader in(bytes);
  Message message;
  field(in, message);
  in.finish();
  return message;
}

}  // namespace

std::size_t Signature::bytes() const {
  const auto elements = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return static_cast<std::size_t>(elements) * size_of(dtype);
}

std::string Signature::text() const {
  std::string description = fmt::format("{} of {} {}", kKindNames[static_cast<std::size_t>(kind)],
                                        fmt::join(counts, "+"), name_of(dtype));
  if (kind == Kind::kBarrier || kind == Kind::kTimeline)
    return kKindNames[static_cast<std::size_t>(kind)];
  if (kind == Kind::kAllGather || kind == Kind::kAllToAll) description += " a row";
  if (kind == Kind::kAllReduce || kind == Kind::kReduceScatter)
    description += fmt::format(" ({})", name_of(op));
  if (kind == Kind::kBroadcast) description += fmt::format(" from rank {}", root);
  if (prescale != 1 || postscale != 1)
    description += fmt::format(" scaled {} and {}", prescale, postscale);
  if (!shape.empty()) description += " shaped " + shape;
  if (compression != "none") description += " as " + compression;
  return description;
}

std::string encode(const UpMessage& message) {
  return encoded(message);
}
std::string encode(const DownMessage& message) {
  return encoded(message);
}
UpMessage decode_up(const std::string& bytes) {
  return decoded<UpMessage>(bytes);
}
DownMessage decode_down(const std::string& bytes) {
  return decoded<DownMessage>(bytes);
}

std::string key_of(const std::string& name, const Signature& signature) {
  Writer out;
  field(out, const_cast<std::string&>(name));
  field(out, const_cast<Signature&>(signature));
  return out.take();
}

}  // namespace tutti::fusion
