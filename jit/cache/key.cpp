#include "jit/cache/key.hpp"

#include "jit/user_kernel.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace sinter::jit {

namespace {

constexpr std::uint64_t prime = 0x9e3779b97f4a7c15ull;

std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * prime;
  return h ^ (h >> 32);
}

std::uint64_t mix_bytes(std::uint64_t h, const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (; bytes >= 8; p += 8, bytes -= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    h = mix(h, word);
  }
  std::uint64_t rest = bytes;
  for (; bytes > 0; ++p, --bytes) rest = rest << 8 | *p;
  return mix(h, rest);
}

/// Tables of plain records without padding, compared and hashed as bytes.
template <class T>
std::uint64_t mix_table(std::uint64_t h, const std::vector<T>& t) {
  static_assert(std::has_unique_object_representations_v<T>);
  return mix_bytes(h, t.data(), t.size() * sizeof(T));
}

template <class T>
bool same_table(const std::vector<T>& a, const std::vector<T>& b) {
  static_assert(std::has_unique_object_representations_v<T>);
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// All but the tables.
std::array<std::uint64_t, 2> facts_of(const kernel& k) {
  return {k.domain_rank | std::uint64_t{k.index_bits} << 8 | std::uint64_t{k.math} << 16 |
              std::uint64_t{k.lanes} << 24 | std::uint64_t{k.threads} << 32,
          static_cast<std::uint64_t>(k.over) | std::uint64_t{k.split} << 8 | std::uint64_t{k.kept} << 16 |
              std::uint64_t{k.whole} << 24 | std::uint64_t{k.unrolled} << 32 | std::uint64_t{k.steps} << 40 |
              std::uint64_t{k.stage} << 48};
}

std::uint64_t tile_of(const kernel& k) {
  return k.tile.dim | std::uint64_t{k.tile.rows} << 8 | std::uint64_t{k.tile.columns} << 16 |
         std::uint64_t{k.tile.depth} << 24;
}

std::uint64_t mix_kernel(std::uint64_t h, const kernel& k) {
  for (const std::uint64_t word : facts_of(k)) h = mix(h, word);
  if (k.over == distribution::tiles) h = mix(h, tile_of(k));
  h = mix_table(h, k.body);
  h = mix_table(h, k.terms);
  h = mix_table(h, k.forms);
  h = mix_table(h, k.accesses);
  h = mix_table(h, k.checks);
  h = mix_table(h, k.dims);
  h = mix_table(h, k.loops);
  h = mix_table(h, k.staged);
  if (!k.tiled.empty()) h = mix_table(h, k.tiled);
  h = mix_table(h, k.stepped);
  if (!k.tables.empty()) h = mix_table(h, k.tables);
  h = mix_table(h, k.iterations);
  h = mix_table(h, k.call_operands);
  h = mix_table(h, k.parameters);
  return mix_table(h, k.origins);
}

/// User kernels by their text.
std::uint64_t mix_calls(std::uint64_t h, const kernel& k) {
  for (const call& c : k.calls) {
    const user_kernel& u = *c.kernel;
    const auto add = [&h](const std::string& s) { h = mix_bytes(h, s.data(), s.size()); };
    const reduction_text& r = u.reduction;
    for (const std::string* s : {&u.name, &u.body, &u.preamble, &r.map, &r.reduce, &r.post_map, &r.identity,
                                 &r.accumulator})
      add(*s);
    if (u.loop.is_there())
      for (const std::string* s : {&u.loop.before, &u.loop.after}) add(*s);
    for (const auto* list : {&u.inputs, &u.outputs})
      for (const user_parameter& p : *list) {
        add(p.is_raw ? "raw " + p.type : p.type);
        add(p.name);
      }
    if (u.form != call_form{}) {
      h = mix(h, u.form.index_rank | std::uint64_t{u.form.given} << 8 | std::uint64_t{u.form.numbers} << 16);
      for (const auto* list : {&u.form.inputs, &u.form.outputs}) h = mix_bytes(h, list->data(), list->size());
    }
    for (const std::string& o : u.options) add(o);
    for (const dtype t : u.input_types) h = mix(h, static_cast<std::uint64_t>(t));
    for (const dtype t : u.output_types) h = mix(h, static_cast<std::uint64_t>(t));
    if (u.accumulator_type) h = mix(h, static_cast<std::uint64_t>(*u.accumulator_type));
  }
  return h;
}

bool same_kernel(const kernel& x, const kernel& y) {
  if (facts_of(x) != facts_of(y) || tile_of(x) != tile_of(y) || x.calls.size() != y.calls.size()) return false;
  for (std::size_t c = 0; c < x.calls.size(); ++c)
    if (x.calls[c].kernel->identity != y.calls[c].kernel->identity || x.calls[c].first != y.calls[c].first ||
        x.calls[c].count != y.calls[c].count)
      return false;
  return same_table(x.body, y.body) && same_table(x.terms, y.terms) && same_table(x.forms, y.forms) &&
         same_table(x.accesses, y.accesses) && same_table(x.checks, y.checks) && same_table(x.dims, y.dims) &&
         same_table(x.loops, y.loops) && same_table(x.staged, y.staged) && same_table(x.stepped, y.stepped) &&
         same_table(x.tiled, y.tiled) && same_table(x.tables, y.tables) && same_table(x.iterations, y.iterations) &&
         same_table(x.call_operands, y.call_operands) && same_table(x.parameters, y.parameters) &&
         same_table(x.origins, y.origins);
}

}  // namespace

std::uint64_t hash(const kernel_key& k) {
  std::uint64_t h = mix(prime, reinterpret_cast<std::uintptr_t>(k.where) ^ static_cast<std::uint64_t>(k.how));
  for (const kernel* part : k.parts) {
    for (const call& c : part->calls) h = mix(h, c.kernel->identity);
    h = mix_kernel(h, *part);
  }
  return h;
}

bool same(const kernel_key& a, const kernel_key& b) {
  return a.where == b.where && a.how == b.how &&
         std::ranges::equal(a.parts, b.parts, [](const kernel* x, const kernel* y) { return same_kernel(*x, *y); });
}

std::uint64_t stable_identity(kernel_list parts) {
  std::uint64_t h = prime;
  for (const kernel* k : parts) h = mix_calls(mix_kernel(h, *k), *k);
  return h;
}

}  // namespace sinter::jit
