// A step's parameters, as the plan or the command line gave them and the catalog declares them.
// They are checked against the declaration before a run starts: a probe only reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace assay::probes {

enum class ParameterType {
  text,
  text_list,
  size,      // bytes, a share of the memory ("85%"), or the word "available"
  count,     // an integer of at least 1
  duration,  // "30s", "8h"; nanoseconds
  flag,      // true or false
};

struct ParameterSpec {
  std::string name;
  ParameterType type = ParameterType::text;
  std::string help;
  bool required = false;
};

// "available": as much as the machine can spare.
struct AvailableSize {};
// Of the memory that the kernel has.
struct MemoryShare {
  unsigned percent = 0;  // 1..100
};
using ParameterValue = std::variant<std::string, std::vector<std::string>, std::uint64_t, bool,
                                    AvailableSize, MemoryShare>;

class Parameters {
 public:
  void set(const std::string& name, ParameterValue value) { values_[name] = std::move(value); }
  bool has(const std::string& name) const { return values_.contains(name); }
  std::string text(const std::string& name, const std::string& otherwise = {}) const {
    const auto* v = get<std::string>(name);
    return v ? *v : otherwise;
  }
  std::vector<std::string> texts(const std::string& name) const {
    const auto* v = get<std::vector<std::string>>(name);
    return v ? *v : std::vector<std::string>{};
  }
  std::uint64_t number(const std::string& name, std::uint64_t otherwise) const {
    const auto* v = get<std::uint64_t>(name);
    return v ? *v : otherwise;
  }
  bool flag(const std::string& name) const {
    const auto* v = get<bool>(name);
    return v != nullptr && *v;
  }
  // Of a size given as a share; 0 otherwise.
  unsigned percent(const std::string& name) const {
    const auto* v = get<MemoryShare>(name);
    return v ? v->percent : 0;
  }
  bool is_available_size(const std::string& name) const {
    return get<AvailableSize>(name) != nullptr;
  }

 private:
  template <class T>
  const T* get(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
  }

  std::map<std::string, ParameterValue> values_;
};

}  // namespace assay::probes
