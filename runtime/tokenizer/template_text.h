// Looking into the text of a Jinja template.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay::runtime {

// The text between `begin` and `end` in one string of the template, its escapes (\n, \', \", \\)
// resolved; the first such text that is not empty. Nothing when between them a string or an
// expression ends.
std::optional<std::string> text_between(std::string_view jinja, std::string_view begin,
                                        std::string_view end);

// Without white space around it, and behind it: Python's str.strip() and str.rstrip().
std::string_view trimmed(std::string_view text);
std::string_view trimmed_end(std::string_view text);

}  // namespace assay::runtime
