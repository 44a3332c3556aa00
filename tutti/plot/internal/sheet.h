// What all plots share: text of an SVG file, its first lines, colours.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace tutti::plot {

// In SVG user units; the plot begins below the title.
inline constexpr double kSheetWidth = 960, kSheetTop = 88;
inline constexpr std::string_view kInk = "#1a1d21", kPaleInk = "#5c636e", kGrid = "#e4e7eb";

class Sheet {
 public:
  // Opens the file: a white sheet of this size with its title and subtitle, from `left` on.
  Sheet(double width, double height, double left, std::string_view title,
        std::string_view subtitle);

  template <class... Args>
  void put(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // Closes the file and gives its text.
  std::string take();

 private:
  std::string text_;
};

// Text that XML takes for nothing else.
std::string escaped(std::string_view text);

}  // namespace tutti::plot
