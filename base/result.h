// Errors are values: Result<T> is either a T or an Error that says what went wrong, where, and what
// to do about it. No exception crosses a public header of this project.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace assay {

enum class ErrorKind {
  usage,        // the caller asked for something that makes no sense
  bad_file,     // a file of the user's is wrong
  unavailable,  // this machine lacks what is needed: "could not test"
  io,           // the operating system refused an operation
  timeout,      // nothing came in time
  vanished,     // the device went away in the middle
  protocol,     // the other side said something that is not understood
  cancelled,    // a person or a deadline stopped it
  exhausted,    // no memory, no room, no contiguous run of pages
};

struct Error {
  ErrorKind kind = ErrorKind::io;
  std::string what;   // one line, no full stop
  std::string where;  // path, path:line:column, device or argument; may be empty
  std::string hint;   // what to do; may be empty

  // "where: what; hint", for a person: one line, safe to print on a terminal.
  std::string text() const;
};

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string what, std::string where = {},
                                   std::string hint = {}) {
  return std::unexpected(Error{kind, std::move(what), std::move(where), std::move(hint)});
}

// An Error of kind io (or unavailable, for ENOENT/ENODEV/EACCES/EPERM) from an errno value.
std::unexpected<Error> fail_errno(int error_number, std::string what, std::string where = {});

}  // namespace assay
