#include "tests/probes/memory/simulated_memory.h"

#include <algorithm>
#include <stdexcept>

namespace assay::test {
namespace {

// A fault of one cell.
class CellFault : public Fault {
 public:
  CellFault(std::size_t cell, bool polarity) : cell_(cell), polarity_(polarity) {}

 protected:
  const std::size_t cell_;
  const bool polarity_;
};

class StuckAt final : public CellFault {
 public:
  using CellFault::CellFault;
  void power_on(Cells& cells) const override { cells.value[cell_] = polarity_; }
  void write(Cells& cells, std::size_t cell, bool value) const override {
    if (cell != cell_) cells.value[cell] = value;
  }
};

// Cannot go to `polarity`.
class Transition final : public CellFault {
 public:
  using CellFault::CellFault;
  void write(Cells& cells, std::size_t cell, bool value) const override {
    if (cell != cell_ || value != polarity_) cells.value[cell] = value;
  }
};

// Writes do not reach the cell, a read gives what was sensed last.
class StuckOpen final : public CellFault {
 public:
  using CellFault::CellFault;
  void write(Cells& cells, std::size_t cell, bool value) const override {
    if (cell != cell_) cells.value[cell] = value;
  }
  bool read(Cells& cells, std::size_t cell) const override {
    return cell == cell_ ? cells.sensed : cells.value[cell];
  }
};

// A read of `polarity` flips the cell, gives the wrong value, or both.
template <bool flips, bool wrong>
class ReadFault final : public CellFault {
 public:
  using CellFault::CellFault;
  bool read(Cells& cells, std::size_t cell) const override {
    const bool value = cells.value[cell];
    if (cell != cell_ || value != polarity_) return value;
    if (flips) cells.value[cell] = !value;
    return wrong ? !value : value;
  }
};

// Writing `polarity` over itself flips the cell.
class WriteDisturb final : public CellFault {
 public:
  using CellFault::CellFault;
  void write(Cells& cells, std::size_t cell, bool value) const override {
    const bool same = cells.value[cell] == value;
    cells.value[cell] = cell == cell_ && same && value == polarity_ ? !value : value;
  }
};

// Left alone, the cell goes to `polarity`.
class Retention final : public CellFault {
 public:
  using CellFault::CellFault;
  void hold(Cells& cells) const override { cells.value[cell_] = polarity_; }
};

// A fault of a victim that an aggressor causes.
class PairFault : public Fault {
 public:
  PairFault(std::size_t aggressor, std::size_t victim, bool on, bool to)
      : aggressor_(aggressor), victim_(victim), on_(on), to_(to) {}

 protected:
  // The aggressor's value goes to `on_` by this write.
  bool is_transition(const Cells& cells, std::size_t cell, bool value) const {
    return cell == aggressor_ && value == on_ && cells.value[cell] != value;
  }
  const std::size_t aggressor_;
  const std::size_t victim_;
  const bool on_;
  const bool to_;
};

class InversionCoupling final : public PairFault {
 public:
  using PairFault::PairFault;
  void write(Cells& cells, std::size_t cell, bool value) const override {
    const bool hit = is_transition(cells, cell, value);
    cells.value[cell] = value;
    if (hit) cells.value[victim_] = !cells.value[victim_];
  }
};

class IdempotentCoupling final : public PairFault {
 public:
  using PairFault::PairFault;
  void write(Cells& cells, std::size_t cell, bool value) const override {
    const bool hit = is_transition(cells, cell, value);
    cells.value[cell] = value;
    if (hit) cells.value[victim_] = to_;
  }
};

// While the aggressor is `on`, the victim is `to`.
class StateCoupling final : public PairFault {
 public:
  using PairFault::PairFault;
  void power_on(Cells& cells) const override { force(cells); }
  void write(Cells& cells, std::size_t cell, bool value) const override {
    cells.value[cell] = value;
    force(cells);
  }

 private:
  void force(Cells& cells) const {
    if (cells.value[aggressor_] == on_) cells.value[victim_] = to_;
  }
};

// An operation on the aggressor flips a victim that is `to`: a read of `on`, a write of `on` over
// itself, or a transition to `on`.
enum class Disturber { read, same_write, transition };
template <Disturber disturber>
class DisturbCoupling final : public PairFault {
 public:
  using PairFault::PairFault;
  void write(Cells& cells, std::size_t cell, bool value) const override {
    const bool same = cells.value[cell] == value;
    const bool hit = cell == aggressor_ && value == on_ && disturber != Disturber::read &&
                     same == (disturber == Disturber::same_write);
    cells.value[cell] = value;
    if (hit) flip(cells);
  }
  bool read(Cells& cells, std::size_t cell) const override {
    const bool value = cells.value[cell];
    if (disturber == Disturber::read && cell == aggressor_ && value == on_) flip(cells);
    return value;
  }

 private:
  void flip(Cells& cells) const {
    if (cells.value[victim_] == to_) cells.value[victim_] = !to_;
  }
};

// While the aggressor is `on`, the victim has a single-cell fault of the polarity `to`.
template <class Single>
class Conditional final : public PairFault {
 public:
  Conditional(std::size_t aggressor, std::size_t victim, bool on, bool to)
      : PairFault(aggressor, victim, on, to), single_(victim, to) {}
  void write(Cells& cells, std::size_t cell, bool value) const override {
    if (cells.value[aggressor_] == on_) {
      single_.write(cells, cell, value);
    } else {
      cells.value[cell] = value;
    }
  }
  bool read(Cells& cells, std::size_t cell) const override {
    return cells.value[aggressor_] == on_ ? single_.read(cells, cell) : cells.value[cell];
  }

 private:
  const Single single_;
};

// An address decoder that reaches other cells than it should. Several cells answer as a wired AND
// or OR, none as a bus that floats to one value.
class Decoder final : public Fault {
 public:
  Decoder(std::vector<std::vector<std::size_t>> reached, bool wired_or)
      : reached_(std::move(reached)), wired_or_(wired_or) {}
  void write(Cells& cells, std::size_t cell, bool value) const override {
    for (const std::size_t r : reached_[cell]) cells.value[r] = value;
  }
  bool read(Cells& cells, std::size_t cell) const override {
    bool out = !wired_or_;
    for (const std::size_t r : reached_[cell]) {
      out = wired_or_ ? (out || cells.value[r]) : (out && cells.value[r]);
    }
    return out;
  }

 private:
  std::vector<std::vector<std::size_t>> reached_;
  bool wired_or_;
};

template <class Single>
FaultClass cells_class(std::size_t n, std::string name, std::string title) {
  FaultClass made{std::move(name), std::move(title), false, {}};
  for (std::size_t cell = 0; cell < n; ++cell) {
    for (const bool polarity : {false, true}) {
      made.instances.push_back(std::make_unique<Single>(cell, polarity));
    }
  }
  return made;
}

template <class... Pairs>
FaultClass pairs_class(std::size_t n, std::string name, std::string title) {
  FaultClass made{std::move(name), std::move(title), false, {}};
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t v = 0; v < n; ++v) {
      if (a == v) continue;
      for (const bool on : {false, true}) {
        for (const bool to : {false, true}) {
          (made.instances.push_back(std::make_unique<Pairs>(a, v, on, to)), ...);
        }
      }
    }
  }
  return made;
}

FaultClass decoder_class(std::size_t n, std::string name, std::string title, bool whole_words) {
  FaultClass made{std::move(name), std::move(title), whole_words, {}};
  std::vector<std::vector<std::size_t>> good(n);
  for (std::size_t i = 0; i < n; ++i) good[i] = {i};
  const auto add = [&](const std::vector<std::vector<std::size_t>>& reached) {
    for (const bool wired_or : {false, true}) {
      made.instances.push_back(std::make_unique<Decoder>(reached, wired_or));
    }
  };
  for (std::size_t x = 0; x < n; ++x) {
    auto none = good;
    none[x] = {};
    add(none);
    for (std::size_t y = 0; y < n; ++y) {
      if (x == y) continue;
      auto wrong = good;
      wrong[x] = {y};
      add(wrong);
      auto several_cells = good;
      several_cells[x] = {x, y};
      add(several_cells);
      auto several_addresses = good;
      several_addresses[x] = {x, y};
      several_addresses[y] = {x, y};
      add(several_addresses);
    }
  }
  return made;
}

}  // namespace

std::vector<FaultClass> fault_classes(std::size_t n) {
  std::vector<FaultClass> all;
  all.push_back(cells_class<StuckAt>(n, "SAF", "stuck-at"));
  all.push_back(cells_class<Transition>(n, "TF", "transition"));
  all.push_back(decoder_class(n, "AF", "address decoder", false));
  all.push_back(pairs_class<InversionCoupling>(n, "CFin", "inversion coupling"));
  all.push_back(pairs_class<IdempotentCoupling>(n, "CFid", "idempotent coupling"));
  all.push_back(pairs_class<StateCoupling>(n, "CFst", "state coupling"));
  all.push_back(cells_class<StuckOpen>(n, "SOF", "stuck-open"));
  all.push_back(cells_class<ReadFault<true, true>>(n, "RDF", "read disturb"));
  all.push_back(cells_class<ReadFault<true, false>>(n, "DRDF", "deceptive read disturb"));
  all.push_back(cells_class<ReadFault<false, true>>(n, "IRF", "incorrect read"));
  all.push_back(cells_class<WriteDisturb>(n, "WDF", "write disturb"));
  all.push_back(cells_class<Retention>(n, "DRF", "data retention"));
  all.push_back(
      pairs_class<DisturbCoupling<Disturber::read>, DisturbCoupling<Disturber::same_write>,
                  DisturbCoupling<Disturber::transition>>(n, "CFds", "disturb coupling"));
  all.push_back(pairs_class<Conditional<Transition>>(n, "CFtr", "transition coupling"));
  all.push_back(pairs_class<Conditional<WriteDisturb>>(n, "CFwd", "write disturb coupling"));
  all.push_back(
      pairs_class<Conditional<ReadFault<true, true>>>(n, "CFrd", "read disturb coupling"));
  all.push_back(pairs_class<Conditional<ReadFault<true, false>>>(
      n, "CFdrd", "deceptive read disturb coupling"));
  all.push_back(
      pairs_class<Conditional<ReadFault<false, true>>>(n, "CFir", "incorrect read coupling"));
  all.push_back(decoder_class(n, "AF64", "address decoder of all 64 bits of a word", true));
  return all;
}

const FaultClass& fault_class(const std::vector<FaultClass>& classes, const std::string& name) {
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&](const FaultClass& c) { return c.name == name; });
  if (found == classes.end()) throw std::runtime_error("no fault class " + name);
  return *found;
}

}  // namespace assay::test
