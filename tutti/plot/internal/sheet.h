// Common parts of all charts: the SVG document with title and subtitle, sizes, colours.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

namespace tutti::plot {

// Width of a chart and top of the plot area, below the title, in SVG user units.
inline constexpr double kSheetWidth = 960, kSheetTop = 88;
inline constexpr std::string_view kInk = "#1a1d21", kPaleInk = "#5c636e", kGrid = "#e4e7eb";

// An SVG document under construction.
class Sheet {
 public:
  // Starts the document: a white background of this size, with title and subtitle at x = `left`.
  Sheet(double width, double height, double left, std::string_view title,
        std::string_view subtitle);

  // Appends a formatted line.
  template <class... Args>
  void put(fmt::format_string<Args...> form, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Args>(args)...);
    text_ += '\n';
  }

  // Ends the document and returns its text. Call it once.
  std::string take();

 private:
  std::string text_;
};

// Escapes the characters &, <, > and " for XML.
std::string escaped(std::string_view text);

}  // namespace tutti::plot
