// runtime/tokenizer/chat_template.h: a template of anyone's.
#include "runtime/tokenizer/chat_template.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"

using assay::fuzz::require;
using namespace assay::runtime;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = assay::fuzz::text_of(data, size);
  const auto made = ChatTemplate::recognize(input, "<s>", "</s>");
  if (!made) {
    require(made.error().kind == assay::ErrorKind::bad_file, "the file is what is wrong");
    return 0;
  }
  // The template's own text as a person's, without the white space that some families trim.
  const ChatMessage said{"user", "x" + std::string(input) + "x"};
  const auto parts = made->render(std::vector{said}, NextTurn::assistant);
  require(parts.has_value(), "a message of a user can be written");
  const auto is_said = [&](const TextPart& part) {
    return part.specials == Specials::text && part.text == said.content;
  };
  require(std::ranges::count_if(*parts, is_said) == 1, "what was said is in it, as it is");
  require(std::ranges::count(*parts, Specials::text, &TextPart::specials) == 1,
          "nothing else is taken for what was said");
  assay::fuzz::reached("family " + std::to_string(static_cast<int>(made->family())));
  assay::fuzz::reached("begins with " + parts->front().text);
  return 0;
}
