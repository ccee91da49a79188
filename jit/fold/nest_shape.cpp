#include "jit/fold/nest_shape.hpp"

#include "jit/fold/wrapping.hpp"

#include <algorithm>

namespace sinter::jit {

nest_shape& nest_shapes::add(nest_shape::form kind) {
  nest_shape& s = shapes_.emplace_back();
  s.kind = kind;
  s.number = static_cast<std::uint32_t>(shapes_.size() - 1);
  s.hash = spread_bits(s.number);
  return s;
}

const nest_shape& nest_shapes::statement(std::int32_t structure, std::size_t parameters) {
  const auto at = static_cast<std::size_t>(structure);
  if (at >= statements_.size()) statements_.resize(at + 1);
  if (!statements_[at]) {
    nest_shape& s = add(nest_shape::form::statement);
    s.statement = s.first = s.last = structure;
    s.affine = static_cast<std::uint32_t>(parameters);
    statements_[at] = &s;
  }
  return *statements_[at];
}

const nest_shape& nest_shapes::loop(nest_shape::form kind, std::span<const nest_shape* const> body) {
  std::uint64_t hash = static_cast<std::uint64_t>(kind);
  for (const nest_shape* s : body) hash = spread_bits(hash ^ s->hash);
  const auto [first, last] = loops_.equal_range(hash);
  for (auto found = first; found != last; ++found)
    if (const nest_shape& s = *found->second;
        s.kind == kind && std::ranges::equal(s.body, body, {}, &nest_shape::child::shape))
      return s;
  nest_shape& s = add(kind);
  s.first = body.front()->first;
  s.last = body.back()->last;
  for (const nest_shape* item : body) {
    s.body.push_back({item, s.body_affine, s.body_rigid});
    s.body_affine += item->affine;
    s.body_rigid += item->rigid;
    s.depth = std::max(s.depth, item->depth);
  }
  ++s.depth;
  s.affine = 1 + s.body_affine;
  s.rigid = s.body_rigid + s.body_affine + (s.is_table() ? 1 : 0);
  loops_.emplace(hash, &s);
  return s;
}

void nest_shapes::clear() {
  shapes_.clear();
  statements_.clear();
  loops_.clear();
}

void nest_list::add(const nest_shape& shape, const std::int64_t* affine, const std::int64_t* rigid) {
  nests_.push_back({&shape, words_.size()});
  words_.insert(words_.end(), affine, affine + shape.affine);
  words_.insert(words_.end(), rigid, rigid + shape.rigid);
}

void write_out(const nest_shape& shape, const std::int64_t* affine, const std::int64_t* rigid,
               const table_store& tables, nest_list& statements) {
  if (shape.is_statement()) {
    statements.add(shape, affine, rigid);
    return;
  }
  const std::int64_t* strides = shape.strides(rigid);
  const traced_table* table = shape.is_table() ? &tables.at(shape.table(rigid)) : nullptr;
  std::vector<std::int64_t> words(affine + 1, affine + shape.affine);
  for (std::int64_t k = 0; k < affine[0]; ++k) {
    if (table) table->select(k, affine + 1, words.data());
    for (const nest_shape::child& item : shape.body)
      write_out(*item.shape, words.data() + item.affine, rigid + item.rigid, tables, statements);
    for (std::size_t c = 0; c < words.size(); ++c) words[c] = wrapping_add(words[c], strides[c]);
  }
}

}  // namespace sinter::jit
