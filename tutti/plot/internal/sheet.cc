#include "tutti/plot/internal/sheet.h"

namespace tutti::plot {

Sheet::Sheet(double width, double height, double left, std::string_view title,
             std::string_view subtitle) {
  put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" )"
      R"(font-family="Inter, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif" font-size="13">)",
      width, height, width, height);
  put(R"(<rect width="100%" height="100%" fill="#ffffff"/>)");
  put(R"(<text x="{}" y="36" font-size="20" font-weight="600" fill="{}">{}</text>)", left, kInk,
      escaped(title));
  put(R"(<text x="{}" y="60" fill="{}">{}</text>)", left, kPaleInk, escaped(subtitle));
}

std::string Sheet::take() {
  put("</svg>");
  return std::move(text_);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

}  // namespace tutti::plot
