// Suggestions for misspelled names.
#pragma once

#include <span>
#include <string_view>

namespace tutti {

// The known name that `word` is most likely a misspelling of: at most two single-letter edits away,
// and fewer than `word` has letters; or the only one that `word` is the beginning of. Empty: none.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known);

}  // namespace tutti
