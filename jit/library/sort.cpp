#include "jit/library/sort.hpp"

#include "jit/loops.hpp"
#include "runtime/backend.hpp"
#include "runtime/error.hpp"

#include <fmt/format.h>

namespace sinter::jit {

namespace {

class sort_call final : public library_call {
 public:
  sort_call(const node* x, const sort_request& how) : type_(x->type), extents_(x->extents), how_(how) {
    length_ = extents_[extents_.rank() - 1];
    extents_[extents_.rank() - 1] = how.kept;
  }

  std::string_view name() const override { return "sort"; }
  std::string describe() const override {
    return fmt::format("sort of {} row(s) of {} {}{}", rows(), length_, to_string(type_),
                       how_.kept < length_ ? fmt::format(", the first {} kept", how_.kept) : "");
  }

  std::vector<output> outputs() const override {
    std::vector<output> all;
    if (how_.values) all.push_back({type_, extents_});
    if (how_.positions) all.push_back({dtype::i64, extents_});
    return all;
  }

  void start(library_run& r) const override {
    sort_task t;
    t.type = type_;
    t.descending = how_.descending;
    t.rows = rows();
    t.length = length_;
    t.kept = how_.kept;
    t.source = r.inputs[0].data;
    if (how_.values) t.values = r.outputs.front().data;
    if (how_.positions) t.positions = static_cast<std::int64_t*>(r.outputs.back().data);
    if (r.where.kind() == runtime::device_kind::cpu) sort_on_host(t, r);
    else sort_by_kernels(t, r);
  }

 private:
  std::int64_t rows() const { return how_.kept == 0 ? 0 : extents_.size() / how_.kept; }

  dtype type_;
  shape extents_;
  std::int64_t length_ = 0;
  sort_request how_;
};

}  // namespace

std::vector<node_ref> record_sort(node* x, const sort_request& how, const place& at) {
  node* const operands[] = {x};
  runtime::device& where = device_of_operands(operands, "sort", at);
  return record_library_call(std::make_shared<const sort_call>(x, how), operands, where, at);
}

}  // namespace sinter::jit
