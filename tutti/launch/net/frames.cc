#include "tutti/launch/net/frames.h"

namespace tutti::launch {
namespace {

class Encoder {
 public:
  Encoder& add(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i));
    return *this;
  }
  Encoder& add(std::string_view text) {
    text_ += text;
    return *this;
  }
  std::string frame(char kind) const { return encode(kind, text_); }

 private:
  std::string text_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view text) : text_(text) {}
  std::uint64_t take(std::size_t bytes) {
    std::uint64_t value = 0;
    has_all_ = has_all_ && bytes <= text_.size();
    if (!has_all_) return 0;
    for (std::size_t i = bytes; i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(text_[i]);
    }
    text_.remove_prefix(bytes);
    return value;
  }
  int take_int() { return static_cast<std::int32_t>(take(4)); }
  std::string take_rest() { return std::string(std::exchange(text_, {})); }
  // True if all values were present and nothing follows them.
  bool is_whole() const { return has_all_ && text_.empty(); }

 private:
  std::string_view text_;
  bool has_all_ = true;
};

std::uint64_t bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

void encode_header(char kind, std::uint32_t length, char* to) {
  *to = kind;
  for (int i = 0; i < 4; ++i) to[1 + i] = static_cast<char>(length >> (8 * i));
}

std::string encode(char kind, std::string_view body) {
  std::string frame(kFrameHeaderBytes, '\0');
  encode_header(kind, static_cast<std::uint32_t>(body.size()), frame.data());
  return frame.append(body);
}

std::string encode(const Hello& hello) {
  return Encoder()
      .add(bits(hello.rank), 4)
      .add(bits(hello.process), 4)
      .add(bits(hello.clock_ns), 8)
      .add(hello.boot_id)
      .frame(kHello);
}

std::optional<Hello> decode_hello(std::string_view body) {
  Decoder decoder(body);
  Hello hello{.rank = decoder.take_int(), .process = decoder.take_int()};
  hello.clock_ns = static_cast<std::int64_t>(decoder.take(8));
  hello.boot_id = decoder.take_rest();
  return decoder.is_whole() ? std::optional(hello) : std::nullopt;
}

std::string encode(const Welcome& welcome) {
  return Encoder()
      .add(welcome.is_terminal ? 1 : 0, 1)
      .add(bits(welcome.rows), 2)
      .add(bits(welcome.columns), 2)
      .add(welcome.window, 4)
      .add(welcome.cpus)
      .frame(kWelcome);
}

std::optional<Welcome> decode_welcome(std::string_view body) {
  Decoder decoder(body);
  Welcome welcome{.is_terminal = decoder.take(1) != 0};
  welcome.rows = static_cast<int>(decoder.take(2));
  welcome.columns = static_cast<int>(decoder.take(2));
  welcome.window = static_cast<std::uint32_t>(decoder.take(4));
  welcome.cpus = decoder.take_rest();
  return decoder.is_whole() ? std::optional(welcome) : std::nullopt;
}

std::string encode(const Credit& credit) {
  return Encoder()
      .add(static_cast<unsigned char>(credit.stream), 1)
      .add(credit.bytes, 4)
      .frame(kCredit);
}

std::optional<Credit> decode_credit(std::string_view body) {
  Decoder decoder(body);
  Credit credit{.stream = static_cast<char>(decoder.take(1))};
  credit.bytes = static_cast<std::uint32_t>(decoder.take(4));
  const bool is_stream = credit.stream == kOutput || credit.stream == kErrors;
  return decoder.is_whole() && is_stream ? std::optional(credit) : std::nullopt;
}

std::string encode(const Exit& exit) {
  return Encoder()
      .add(bits(exit.code), 4)
      .add(bits(exit.signal), 4)
      .add(bits(exit.clock_ns), 8)
      .add(exit.was_stopped ? 1 : 0, 1)
      .frame(kExit);
}

std::optional<Exit> decode_exit(std::string_view body) {
  Decoder decoder(body);
  Exit exit{.code = decoder.take_int(), .signal = decoder.take_int()};
  exit.clock_ns = static_cast<std::int64_t>(decoder.take(8));
  exit.was_stopped = decoder.take(1) != 0;
  return decoder.is_whole() ? std::optional(exit) : std::nullopt;
}

void FrameReader::take_header(std::string_view* bytes) {
  const std::string_view piece = bytes->substr(0, kFrameHeaderBytes - header_.size());
  header_ += piece;
  bytes->remove_prefix(piece.size());
  if (header_.size() < kFrameHeaderBytes) return;
  missing_ = static_cast<std::uint32_t>(Decoder(std::string_view(header_).substr(1)).take(4));
  body_.clear();
  is_broken_ = !is_output(header_[0]) && missing_ > kLongestControl;
}

}  // namespace tutti::launch
