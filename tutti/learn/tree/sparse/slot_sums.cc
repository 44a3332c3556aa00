#include "tutti/learn/tree/sparse/slot_sums.h"

#include <algorithm>
#include <bit>

namespace tutti::learn::tree {
namespace {

using Slot = SparseBinnedData::Slot;

// With more entries than slots / kSlotsPerEntry, reading all slots is faster than a bitmap.
constexpr std::size_t kSlotsPerEntry = 3;

// Adds a row to the words of a slot.
struct NarrowAdd {
  std::uint64_t* words;
  std::uint64_t word = 0;
  void use(const NarrowRecord& record) { word = pack(record.gradient, record.hessian); }
  void operator()(Slot slot) const { words[slot] += word; }
};
struct WideAdd {
  std::uint64_t* words;
  std::uint64_t gradient = 0, hessian = 0;
  void use(const WideRecord& record) {
    gradient = static_cast<std::uint64_t>(record.gradient);
    hessian = record.hessian;
  }
  void operator()(Slot slot) const {
    words[2 * std::size_t{slot}] += gradient;
    words[2 * std::size_t{slot} + 1] += hessian;
  }
};
// Classes, and all kinds with the number of rows.
struct GeneralAdd {
  std::uint64_t* words;
  HistogramShape shape;
  WideRecord record = {};
  void use(const WideRecord& one) { record = one; }
  void operator()(Slot slot) const {
    add_to_cell(shape, record, words + slot * shape.words_per_bin());
  }
};

template <class Record, class Add, class Mark>
void add_entries(const SparseBinnedData& data, std::span<const Record> rows, Add add,
                 const Mark& mark) {
  constexpr std::size_t kAhead = 4;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) __builtin_prefetch(data.row(rows[i + kAhead].row).data());
    add.use(rows[i]);
    for (const Slot slot : data.row(rows[i].row)) {
      add(slot);
      mark(slot);
    }
  }
}

}  // namespace

void SlotSums::subtract(const SlotSums& part, std::size_t words_per_bin) {
  std::size_t kept = 0, at = 0;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::uint64_t* const from = words.data() + i * words_per_bin;
    std::uint64_t* const to = words.data() + kept * words_per_bin;
    std::uint64_t any = 0;
    if (at < part.slots.size() && part.slots[at] == slots[i]) {
      const std::uint64_t* const less = part.words.data() + at * words_per_bin;
      for (std::size_t word = 0; word < words_per_bin; ++word)
        any |= to[word] = from[word] - less[word];
      ++at;
    } else {
      for (std::size_t word = 0; word < words_per_bin; ++word) any |= to[word] = from[word];
    }
    slots[kept] = slots[i];
    kept += any != 0 ? 1 : 0;
  }
  slots.resize(kept);
  words.resize(kept * words_per_bin);
}

SlotAccumulator::SlotAccumulator(const SparseBinnedData& data, const HistogramShape& shape)
    : data_(data),
      shape_(shape),
      words_per_bin_(shape.words_per_bin()),
      words_(data.slots() * words_per_bin_),
      marks_(data.slots() / 64 + 1),
      marked_words_(marks_.size() / 64 + 1) {}

template <class Record, bool kMarks>
void SlotAccumulator::add_rows(std::span<const Record> rows) {
  const auto mark = [this](Slot slot) {
    if constexpr (!kMarks) return;
    marks_[slot >> 6] |= 1ull << (slot & 63);
    marked_words_[slot >> 12] |= 1ull << (slot >> 6 & 63);
  };
  if constexpr (sizeof(Record) == sizeof(NarrowRecord))
    add_entries(data_, rows, NarrowAdd{words_.data()}, mark);
  else if (shape_.kind == Kind::kWide && !shape_.counts_rows)
    add_entries(data_, rows, WideAdd{words_.data()}, mark);
  else
    add_entries(data_, rows, GeneralAdd{words_.data(), shape_}, mark);
}

template <class Record>
void SlotAccumulator::add(std::span<const Record> rows) {
  std::size_t entries = 0;
  for (const Record& record : rows) {
    entries += data_.row(record.row).size();
    if (entries > data_.slots() / kSlotsPerEntry) break;
  }
  all_are_marked_ = all_are_marked_ || entries > data_.slots() / kSlotsPerEntry;
  if (all_are_marked_)
    add_rows<Record, false>(rows);
  else
    add_rows<Record, true>(rows);
}
template void SlotAccumulator::add(std::span<const NarrowRecord>);
template void SlotAccumulator::add(std::span<const WideRecord>);

void SlotAccumulator::merge(SlotAccumulator& other, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin * words_per_bin_; i < end * words_per_bin_; ++i) {
    words_[i] += other.words_[i];
    other.words_[i] = 0;
  }
}

std::span<std::uint64_t> SlotAccumulator::all_words() {
  all_are_marked_ = true;
  return words_;
}

// kWords: words per slot; 0: words_per_bin_.
template <std::size_t kWords>
inline void SlotAccumulator::take_slot(std::size_t slot, std::span<const char> is_allowed,
                                       SlotSums& sums) {
  const std::size_t size = kWords > 0 ? kWords : words_per_bin_;
  std::uint64_t* const cell = words_.data() + slot * size;
  std::uint64_t any = 0;
  for (std::size_t word = 0; word < size; ++word) any |= cell[word];
  if (any == 0) return;
  if (is_allowed.empty() || is_allowed[data_.column_of(static_cast<Slot>(slot))] != 0) {
    sums.slots.push_back(static_cast<Slot>(slot));
    for (std::size_t word = 0; word < size; ++word) sums.words.push_back(cell[word]);
  }
  for (std::size_t word = 0; word < size; ++word) cell[word] = 0;
}

template <std::size_t kWords>
void SlotAccumulator::take_all(SparseBinnedData::SlotRange range, std::span<const char> is_allowed,
                               SlotSums& sums) {
  for (std::size_t slot = range.begin; slot < range.end; ++slot)
    take_slot<kWords>(slot, is_allowed, sums);
  std::fill_n(words_.begin(), range.begin * words_per_bin_, 0);
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(range.end * words_per_bin_), words_.end(),
            0);
  std::fill(marks_.begin(), marks_.end(), 0);
  std::fill(marked_words_.begin(), marked_words_.end(), 0);
  all_are_marked_ = false;
}

template <std::size_t kWords>
void SlotAccumulator::take_marked(std::span<const char> is_allowed, SlotSums& sums) {
  for (std::size_t part = 0; part < marked_words_.size(); ++part)
    for (std::uint64_t bits = std::exchange(marked_words_[part], 0); bits != 0; bits &= bits - 1) {
      const std::size_t at = part * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      for (std::uint64_t slots = std::exchange(marks_[at], 0); slots != 0; slots &= slots - 1)
        take_slot<kWords>(at * 64 + static_cast<std::size_t>(std::countr_zero(slots)), is_allowed,
                          sums);
    }
}

void SlotAccumulator::take(SparseBinnedData::SlotRange range, std::span<const char> is_allowed,
                           SlotSums& sums) {
  sums.slots.clear();
  sums.words.clear();
  const auto take_as = [&]<std::size_t kWords>(std::integral_constant<std::size_t, kWords>) {
    if (all_are_marked_)
      take_all<kWords>(range, is_allowed, sums);
    else
      take_marked<kWords>(is_allowed, sums);
  };
  if (words_per_bin_ == 1) return take_as(std::integral_constant<std::size_t, 1>());
  if (words_per_bin_ == 2) return take_as(std::integral_constant<std::size_t, 2>());
  take_as(std::integral_constant<std::size_t, 0>());
}

}  // namespace tutti::learn::tree
