#include "tutti/learn/tree/sparse/slot_search.h"

#include <algorithm>

namespace tutti::learn::tree {

SlotSearch::SlotSearch(const SparseBinnedData& data, const SplitSearch& search)
    : data_(data),
      search_(search),
      shape_(search.shape()),
      words_per_bin_(shape_.words_per_bin()),
      defaults_(words_per_bin_) {
  if (shape_.kind == Kind::kClasses) column_words_.resize(shape_.words_per_column());
}

SlotGroup SlotSearch::group_at(const SlotSums& sums, std::size_t begin) const {
  const auto end_slot = data_.slots_of(data_.column_of(sums.slots[begin])).end;
  std::size_t end = begin + 1;
  while (end < sums.slots.size() && sums.slots[end] < end_slot) ++end;
  return {begin, end};
}

void SlotSearch::begin_node(const NodeSums& node, std::uint64_t random) {
  node_ = &node;
  random_ = random;
  highest_ = 0;
  screen_.reset();
  if (!search_.counts_classes() && !search_.rules().random_thresholds)
    screen_.emplace(data_, search_, node);
}

// Returns whether the score is within rounding of the highest one so far.
inline bool SlotSearch::is_promising(double score) {
  if (score < highest_ * (1 - 2 * SlotScreen::kError)) return false;
  if (score < SlotScreen::kUnknown) highest_ = std::max(highest_, score);
  return true;
}

void SlotSearch::search(const SlotSums& sums, SlotGroup range, const NodeSums& node,
                        std::uint64_t random, Split& best) {
  begin_node(node, random);
  screened_.clear();
  for (std::size_t at = range.begin; at < range.end;) {
    const SlotGroup group = group_at(sums, at);
    at = group.end;
    if (!screen_) {
      search_column(sums, group, best);
      continue;
    }
    const double score = screen_->score(sums, group);
    if (is_promising(score)) screened_.push_back({group, score});
  }
  for (const Screened& one : screened_)
    if (is_promising(one.score)) search_column(sums, one.group, best);
}

bool SlotSearch::try_column(const SlotSums& sums, SlotGroup group, Split& best) {
  if (group.end - group.begin == 1) {  // constant if all rows of the node have the slot
    set_defaults(sums, group);
    std::uint64_t any = 0;
    for (const std::uint64_t word : defaults_) any |= word;
    if (any == 0) return false;
  }
  if (!screen_ || is_promising(screen_->score(sums, group))) search_column(sums, group, best);
  return true;
}

void SlotSearch::search_column(const SlotSums& sums, SlotGroup group, Split& best) {
  read(sums, group);
  search_.try_column(data_.column_of(sums.slots[group.begin]), column_, *node_, random_, best);
  clear_words();
}

// The sums of the node minus those of the slots.
void SlotSearch::set_defaults(const SlotSums& sums, SlotGroup group) {
  if (shape_.kind == Kind::kNarrow) {
    defaults_[0] = pack(node_->gradient, node_->hessian);
  } else if (shape_.kind == Kind::kWide) {
    defaults_[0] = static_cast<std::uint64_t>(node_->gradient);
    defaults_[1] = static_cast<std::uint64_t>(node_->hessian);
  } else {
    std::copy(node_->classes.begin(), node_->classes.end(), defaults_.begin());
  }
  if (shape_.counts_rows)
    defaults_[shape_.sums_per_bin()] = static_cast<std::uint64_t>(node_->count);
  for (std::size_t i = group.begin; i < group.end; ++i)
    for (std::size_t word = 0; word < words_per_bin_; ++word)
      defaults_[word] -= sums.words[i * words_per_bin_ + word];
}

void SlotSearch::add_bin(int bin, const std::uint64_t* words) {
  std::int64_t gradient = 0, hessian = 0;
  if (shape_.kind == Kind::kClasses) {
    for (int k = 0; k < shape_.classes; ++k) hessian += static_cast<std::int64_t>(words[k]);
    std::copy_n(words, words_per_bin_,
                column_words_.begin() + bin * static_cast<std::ptrdiff_t>(words_per_bin_));
  } else {
    const bool is_narrow = shape_.kind == Kind::kNarrow;
    gradient = is_narrow ? gradient_of(*words) : static_cast<std::int64_t>(words[0]);
    hessian = is_narrow ? hessian_of(*words) : static_cast<std::int64_t>(words[1]);
  }
  const std::int64_t count =
      shape_.counts_rows ? static_cast<std::int64_t>(words[shape_.sums_per_bin()]) : 0;
  if ((gradient | hessian | count) == 0) return;
  if (bin == kMissingBin) {
    column_.missing_gradient = gradient;
    column_.missing_hessian = hessian;
    column_.missing_count = count;
    return;
  }
  const auto at = static_cast<std::size_t>(column_.size++);
  column_.bins[at] = bin;
  column_.gradients[at] = gradient;
  column_.hessians[at] = hessian;
  column_.counts[at] = count;
}

// Sets column_ to the sums of the column, including the default bin.
void SlotSearch::read(const SlotSums& sums, SlotGroup group) {
  column_.size = 0;
  column_.missing_gradient = column_.missing_hessian = column_.missing_count = 0;
  column_.words = column_words_.data();
  set_defaults(sums, group);
  const int default_bin = data_.default_bin(data_.column_of(sums.slots[group.begin]));
  bool has_default = true;
  for (std::size_t i = group.begin; i < group.end; ++i) {
    const int bin = data_.bin_of(sums.slots[i]);
    if (has_default && bin > default_bin) {
      add_bin(default_bin, defaults_.data());
      has_default = false;
    }
    add_bin(bin, sums.words.data() + i * words_per_bin_);
  }
  if (has_default) add_bin(default_bin, defaults_.data());
}

void SlotSearch::clear_words() {
  if (shape_.kind != Kind::kClasses) return;
  const auto clear = [&](int bin) {
    std::fill_n(column_words_.begin() + bin * static_cast<std::ptrdiff_t>(words_per_bin_),
                words_per_bin_, 0);
  };
  for (int i = 0; i < column_.size; ++i)
    clear(static_cast<int>(column_.bins[static_cast<std::size_t>(i)]));
  clear(kMissingBin);
}

}  // namespace tutti::learn::tree
