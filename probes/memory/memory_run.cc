#include "probes/memory/memory_run.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "probes/memory/block_move.h"

namespace assay::probes {
namespace {

// Between two looks at the cancel token, and between two fences: a millisecond or so. A piece whose
// lines are flushed one by one takes 20.
constexpr std::size_t piece_lines = (std::size_t{8} << 20) / line_bytes;
constexpr std::size_t flushed_piece_lines = (std::size_t{1} << 20) / line_bytes;
constexpr std::size_t errors_per_worker = 64;
// Copied about as one: larger than a page, small enough that a worker's part has many.
constexpr std::size_t block_lines = (std::size_t{1} << 20) / line_bytes;

bool only(const Element& element, bool write) {
  return element.operations.size() == 1 && element.operations[0].write == write &&
         element.operations[0].select == Select::all && element.order == Order::any &&
         !element.hold;
}

}  // namespace

// One element of one test, or the last of one and the first of the next as one.
struct MemoryRun::Pass {
  struct Source {
    std::size_t test = 0;
    std::size_t element = 0;
    unsigned operation = 0;
  };
  Order order = Order::any;
  Flush flush = Flush::none;
  bool hold = false;
  bool block_move = false;
  std::vector<LineOperation> operations;  // id: index into sources
  std::vector<Source> sources;
  std::string element;  // "⇑(r0,w1)"
  std::string text;     // "march-c- ⇑(r0,w1)"
};

MemoryRun::MemoryRun(std::span<std::byte> region, std::span<const Algorithm> tests,
                     const MemoryRunOptions& options, WorkerPool& workers, LineHook* hook,
                     const CancelToken& cancel)
    : region_(region),
      tests_(tests),
      options_(options),
      workers_(workers),
      hook_(hook),
      cancel_(cancel) {
  if (hook_ != nullptr) {
    const auto lines = hook_->lines(region_.size() / line_bytes);
    hooked_.assign(lines.begin(), lines.end());
  }
  plan();
}

MemoryRun::~MemoryRun() = default;

void MemoryRun::plan() {
  const auto base = reinterpret_cast<std::uintptr_t>(region_.data());
  data_.resize(tests_.size());
  for (std::size_t t = 0; t < tests_.size(); ++t) {
    const Algorithm& test = tests_[t];
    figures_.push_back({test.name, 0, 0});
    for (const Background& background : test.data) data_[t].emplace_back(background, base);
    if (test.block_move) {
      Pass pass{.block_move = true, .element = "blocks", .text = test.name};
      pass.operations = {{false, Select::all, 0, data_[t].data()}};
      pass.sources = {{t, 0, 0}};
      passes_.push_back(std::move(pass));
    }
    for (std::size_t e = 0; e < test.elements.size(); ++e) {
      const Element& element = test.elements[e];
      Pass pass{.order = element.order,
                .flush = flush_of(element, options_.flush),
                .hold = element.hold,
                .element = element_text(test, e)};
      pass.text = test.name + " " + pass.element;
      for (unsigned o = 0; o < element.operations.size(); ++o) {
        const Operation& op = element.operations[o];
        pass.operations.push_back(
            {op.write, op.select, static_cast<std::uint16_t>(o), &data_[t][op.data]});
        pass.sources.push_back({t, e, o});
      }
      passes_.push_back(std::move(pass));
    }
  }
  const auto element_of = [&](const Pass& pass) -> const Element& {
    return tests_[pass.sources[0].test].elements[pass.sources[0].element];
  };
  const auto fused = [&](const Pass& verifying, const Pass& writing) -> std::unique_ptr<Pass> {
    if (verifying.block_move || writing.block_move || verifying.sources.size() != 1 ||
        !only(element_of(verifying), false) || !only(element_of(writing), true)) {
      return nullptr;
    }
    auto pass = std::make_unique<Pass>(verifying);
    pass->order = Order::up;
    pass->flush = std::max(verifying.flush, writing.flush);
    pass->operations.push_back(writing.operations[0]);
    pass->operations.back().id = 1;
    pass->sources.push_back(writing.sources[0]);
    pass->element = verifying.element + " with " + writing.element;
    pass->text =
        verifying.text + " with " +
        (verifying.sources[0].test == writing.sources[0].test ? writing.element : writing.text);
    return pass;
  };
  std::vector<Pass> separate = std::move(passes_);
  passes_.clear();
  for (Pass& pass : separate) {
    if (!passes_.empty()) {
      if (auto both = fused(passes_.back(), pass)) {
        passes_.back() = std::move(*both);
        continue;
      }
    }
    passes_.push_back(std::move(pass));
  }
  wrap_ = fused(passes_.back(), passes_.front());
}

std::uint64_t MemoryRun::bytes_per_iteration() const {
  std::uint64_t bytes = 0;
  for (const Pass& pass : passes_) {
    bytes += pass.block_move ? block_move_lines(region_.size() / line_bytes / 2) * line_bytes
                             : pass.operations.size() * region_.size();
  }
  return bytes;
}

std::uint64_t MemoryRun::holds_per_iteration() const {
  return static_cast<std::uint64_t>(
      std::count_if(passes_.begin(), passes_.end(), [](const Pass& pass) { return pass.hold; }));
}

MemoryRun::Iteration MemoryRun::iterate(std::uint64_t iteration) {
  const auto enough = [&] {
    return iteration > 1 && options_.deadline_ns != 0 && monotonic_ns() >= options_.deadline_ns;
  };
  const bool owed = std::exchange(verification_owed_, false);
  const std::size_t first = owed ? 1 : 0;
  if (owed) {
    // What it verifies is the iteration before.
    if (!run(*wrap_)) return Iteration::cancelled;
  }
  iteration_ = iteration;
  const std::size_t last = passes_.size() - (wrap_ != nullptr ? 1 : 0);
  for (std::size_t i = first; i < last; ++i) {
    if (enough()) return Iteration::out_of_time;
    if (!run(passes_[i])) return Iteration::cancelled;
  }
  verification_owed_ = wrap_ != nullptr;
  return Iteration::whole;
}

bool MemoryRun::finish() {
  return !std::exchange(verification_owed_, false) || run(passes_.back());
}

bool MemoryRun::run(const Pass& pass) {
  if (cancel_.cancelled() || (pass.hold && !hold())) return false;
  ++pass_number_;
  const std::int64_t start = monotonic_ns();
  const std::uint64_t before = bytes_moved_;
  const bool whole = pass.block_move ? move_blocks(pass) : run_elements(pass);
  // A pass of two tests counts for both.
  const std::uint64_t operations = pass.sources.size();
  const std::int64_t elapsed = monotonic_ns() - start;
  for (const Pass::Source& source : pass.sources) {
    TestFigures& figures = figures_[source.test];
    figures.elapsed_ns += elapsed / static_cast<std::int64_t>(operations);
    figures.bytes_moved += (bytes_moved_ - before) / operations;
  }
  return whole;
}

bool MemoryRun::hold() {
  std::int64_t before = monotonic_ns();
  const std::int64_t end = before + options_.hold_ns;
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  for (std::int64_t now = monotonic_ns(); now < end; now = monotonic_ns()) {
    if (cancel_.cancelled()) return false;
    if (on_progress) {
      on_progress(bytes_moved_, "holding for " + std::to_string((end - now) / ns_per_s + 1) + " s");
    }
    never.wait_for(lock, std::chrono::nanoseconds(std::min(end - now, cancel_interval_ns)));
    held_ns_ += monotonic_ns() - std::exchange(before, monotonic_ns());
  }
  return true;
}

// Calls work(worker, first line, last line) in pieces of each worker's part, in the pass's order.
template <class Work>
bool MemoryRun::in_pieces(std::size_t grain, Order order, const Work& work) {
  const std::size_t lines = region_.size() / line_bytes;
  std::atomic<bool> whole{true};
  workers_.run([&](unsigned worker) {
    const Share part = share_of(lines, worker, workers_.size(), grain);
    const std::size_t length = part.last - part.first;
    for (std::size_t done = 0; done < length; done += grain) {
      if (cancel_.cancelled()) {
        whole = false;
        return;
      }
      const std::size_t now = std::min(grain, length - done);
      const std::size_t first = order == Order::down ? part.last - done - now : part.first + done;
      work(worker, first, first + now);
    }
  });
  return whole;
}

bool MemoryRun::run_elements(const Pass& pass) {
  std::vector<Mismatches> found(workers_.size());
  for (Mismatches& one : found) one.most = errors_per_worker;
  std::atomic<std::uint64_t> moved{bytes_moved_};
  const LinePass line_pass{pass.order, pass.flush, pass.operations};
  // With small regions every worker still gets a part.
  const std::size_t lines = region_.size() / line_bytes;
  const std::size_t grain =
      std::clamp(lines / workers_.size(), std::size_t{1},
                 pass.flush <= Flush::stream ? piece_lines : flushed_piece_lines);
  const bool whole =
      in_pieces(grain, pass.order, [&](unsigned worker, std::size_t first, std::size_t last) {
        run_lines(region_.data(), first, last, line_pass, hooked_, hook_, found[worker]);
        const std::uint64_t now = moved += (last - first) * line_bytes * pass.operations.size();
        if (on_progress) on_progress(now, pass.text);
      });
  bytes_moved_ = moved;
  held_ =
      whole && pass.operations.back().select == Select::all ? pass.operations.back().data : nullptr;
  hand_over(pass, found);
  return whole;
}

bool MemoryRun::move_blocks(const Pass& pass) {
  std::vector<Mismatches> found(workers_.size());
  for (Mismatches& one : found) one.most = errors_per_worker;
  std::atomic<std::uint64_t> moved{bytes_moved_};
  bool whole = true;
  for (std::size_t stage = 0; stage < block_stages && whole; ++stage) {
    whole = in_pieces(block_lines, Order::up,
                      [&](unsigned worker, std::size_t first, std::size_t last) {
                        const std::size_t half = (last - first) / 2;
                        if (half == 0) return;
                        const auto stages = block_move(first, half);
                        for (const BlockStep& step : stages[stage]) {
                          run_step(step, pass, found[worker]);
                          moved += step.lines_moved() * line_bytes;
                        }
                        if (on_progress) on_progress(moved, pass.text);
                      });
  }
  bytes_moved_ = moved;
  held_ = nullptr;
  hand_over(pass, found);
  return whole;
}

void MemoryRun::run_step(const BlockStep& step, const Pass& pass, Mismatches& found) {
  LineOperation operation = pass.operations[0];
  const auto hooked = [&](auto tell) {
    for (const std::size_t line : hooked_) {
      if (line >= step.to && line < step.to + step.count) tell(line);
    }
  };
  switch (step.kind) {
    case BlockStep::Kind::write:
      operation.write = true;
      run_lines(region_.data(), step.to, step.to + step.count,
                {Order::up, Flush::none, {&operation, 1}}, hooked_, hook_, found);
      break;
    case BlockStep::Kind::copy:
      copy_lines(region_.data(), step.from, step.to, step.count);
      hooked([&](std::size_t line) { hook_->written(region_.data(), line); });
      break;
    case BlockStep::Kind::verify:
      hooked([&](std::size_t line) { hook_->about_to_read(region_.data(), line); });
      verify_lines(region_.data(), step.to, step.count, step.from, operation, found);
      break;
  }
}

void MemoryRun::hand_over(const Pass& pass, std::vector<Mismatches>& found) {
  std::uint64_t uncounted = 0;
  bool seen = false;
  for (const Mismatches& one : found) {
    seen = seen || one.count > 0;
    for (const Mismatch& m : one.list) {
      const Pass::Source& source = pass.sources[m.operation];
      const Algorithm& test = tests_[source.test];
      MemoryError error{.offset = m.offset,
                        .address = reinterpret_cast<std::uintptr_t>(region_.data()) + m.offset,
                        .expected = m.expected,
                        .actual = m.actual,
                        .again = m.again,
                        .test = test.name,
                        .element = pass.element,
                        .operation = source.operation,
                        .data = pass.operations[m.operation].data->kind,
                        .iteration = iteration_,
                        .pass = pass_number_,
                        .held = pass.hold,
                        .processor = m.processor,
                        .wall_ns = m.wall_ns};
      if (on_error) on_error(std::move(error));
    }
    uncounted += one.count - one.list.size();
  }
  if (uncounted > 0 && on_uncounted) on_uncounted(uncounted);
  if (seen && on_errors_seen) on_errors_seen();
}

Retest MemoryRun::retest(std::uint64_t offset, std::uint64_t expected, unsigned rounds) {
  const std::size_t line = offset / line_bytes;
  auto* const kept = reinterpret_cast<std::uint64_t*>(region_.data()) + line * words_per_line;
  const std::vector<std::uint64_t> before(kept, kept + words_per_line);
  Retest retest{.rounds = rounds};
  const auto base = reinterpret_cast<std::uintptr_t>(region_.data());
  for (unsigned round = 0; round < rounds; ++round) {
    bool failed = false;
    for (const std::uint64_t value : {expected, ~expected}) {
      const LineData data({.value = value}, base);
      const LineOperation operations[] = {{true, Select::all, 0, &data},
                                          {false, Select::all, 1, &data}};
      Mismatches found{.list = {}, .count = 0, .most = words_per_line};
      run_lines(region_.data(), line, line + 1, {Order::up, Flush::line, operations}, hooked_,
                hook_, found);
      for (const Mismatch& m : found.list) failed = failed || m.offset == offset;
    }
    retest.failed += failed ? 1 : 0;
  }
  if (held_ != nullptr) {
    const LineOperation write[] = {{true, Select::all, 0, held_}};
    Mismatches none;
    run_lines(region_.data(), line, line + 1, {Order::up, Flush::none, write}, hooked_, hook_,
              none);
  } else {
    std::copy(before.begin(), before.end(), kept);
  }
  return retest;
}

}  // namespace assay::probes
