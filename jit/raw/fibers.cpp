#include "jit/raw/fibers.hpp"

#include "runtime/error.hpp"

#include <cstring>

#include <sys/mman.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

// The address sanitizer, in programs built with it, wants to know of stacks.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** save, const void* bottom, std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* save, const void** bottom, std::size_t* size);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
}

// ---- The switch: registers that calls preserve go onto the old stack and come from the new one ----

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl sinter_switch_stack
.hidden sinter_switch_stack
.type sinter_switch_stack, @function
sinter_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sinter_switch_stack, .-sinter_switch_stack

.globl sinter_start_stack
.hidden sinter_start_stack
.type sinter_start_stack, @function
sinter_start_stack:
  .cfi_startproc
  .cfi_undefined rip
  movq %r12, %rdi
  callq *%rbx
  ud2
  .cfi_endproc
.size sinter_start_stack, .-sinter_start_stack
)");
extern "C" void sinter_switch_stack(void** save, void* next);
extern "C" void sinter_start_stack();
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.globl sinter_switch_stack
.hidden sinter_switch_stack
.type sinter_switch_stack, %function
sinter_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size sinter_switch_stack, .-sinter_switch_stack

.globl sinter_start_stack
.hidden sinter_start_stack
.type sinter_start_stack, %function
sinter_start_stack:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x20
  blr x19
  brk #1
  .cfi_endproc
.size sinter_start_stack, .-sinter_start_stack
)");
extern "C" void sinter_switch_stack(void** save, void* next);
extern "C" void sinter_start_stack();
#endif

namespace sinter::jit {
namespace {

constexpr std::uint64_t mark = 0x5eed0fa57acc0de5;  // at the far end of a stack, until somebody gets there
constexpr std::size_t stride = stack_set::stack_bytes + 4096 + 5 * 64;
constexpr std::size_t guard_bytes = 65536;

bool is_sanitized() { return __sanitizer_start_switch_fiber != nullptr; }

void leave(context& from, const context& to) {
  __sanitizer_start_switch_fiber(&from.stack->shadow, to.stack->bottom, to.stack->bytes);
}

/// `from`: where a new stack was started from, whose place on the processor's own stack nobody else knows.
void arrive(void* shadow, sanitized_stack* from) {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(shadow, &bottom, &bytes);
  if (from == nullptr || from->bottom != nullptr) return;
  from->bottom = bottom;
  from->bytes = bytes;
}

/// The first thing on a new stack.
struct beginning {
  void (*entry)(void*);
  void* argument;
};

}  // namespace

#if defined(__x86_64__) || defined(__aarch64__)

namespace {
thread_local sanitized_stack* last_left = nullptr;  // kept for the sanitizer only

extern "C" void sinter_begin_fiber(void* at) {
  const beginning b = *static_cast<const beginning*>(at);
  if (is_sanitized()) arrive(nullptr, last_left);
  b.entry(b.argument);
}
}  // namespace

void switch_context(context& from, context& to) {
  if (is_sanitized()) [[unlikely]] {
    last_left = from.stack;
    leave(from, to);
    sinter_switch_stack(&from.stack_pointer, to.stack_pointer);
    arrive(from.stack->shadow, nullptr);
    return;
  }
  sinter_switch_stack(&from.stack_pointer, to.stack_pointer);
}

void stack_set::prepare(context& c, std::size_t k, void (*entry)(void*), void* argument) {
  std::byte* const low = bottom(k);
  std::memcpy(low, &mark, sizeof mark);
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(low, stack_bytes);
  // The top, 16-byte aligned, holds what to call; below it lie the registers that the first switch takes.
  auto top = reinterpret_cast<std::uintptr_t>(low + stack_bytes) & ~std::uintptr_t{63};
  top -= sizeof(beginning);
  *reinterpret_cast<beginning*>(top) = {entry, argument};
  auto* registers = reinterpret_cast<void**>(top);
#if defined(__x86_64__)
  *--registers = nullptr;
  *--registers = nullptr;  // keeps the stack aligned after the return address is gone
  *--registers = reinterpret_cast<void*>(&sinter_start_stack);
  for (int n = 0; n < 6; ++n) *--registers = nullptr;  // r15 r14 r13 r12 rbx rbp, from low to high
  registers[3] = reinterpret_cast<void*>(top);
  registers[4] = reinterpret_cast<void*>(&sinter_begin_fiber);
#else
  registers -= 20;
  std::memset(registers, 0, 160);
  registers[0] = reinterpret_cast<void*>(&sinter_begin_fiber);
  registers[1] = reinterpret_cast<void*>(top);
  registers[11] = reinterpret_cast<void*>(&sinter_start_stack);
#endif
  c.stack_pointer = registers;
  *c.stack = {nullptr, low, stack_bytes};
}

#else

namespace {
thread_local sanitized_stack* last_left = nullptr;  // kept for the sanitizer only
void begin_fiber(unsigned high, unsigned low) {
  const auto* b = reinterpret_cast<const beginning*>((std::uintptr_t{high} << 16 << 16) | low);
  if (is_sanitized()) arrive(nullptr, last_left);
  b->entry(b->argument);
}
}  // namespace

// stack_pointer is a ucontext_t here: on the stack of its fiber, or one of this function's.
void switch_context(context& from, context& to) {
  ucontext_t here;
  from.stack_pointer = &here;
  if (is_sanitized()) {
    last_left = from.stack;
    leave(from, to);
  }
  swapcontext(&here, static_cast<ucontext_t*>(to.stack_pointer));
  if (is_sanitized()) arrive(from.stack->shadow, nullptr);
}

void stack_set::prepare(context& c, std::size_t k, void (*entry)(void*), void* argument) {
  std::byte* const low = bottom(k);
  std::memcpy(low, &mark, sizeof mark);
  auto top = reinterpret_cast<std::uintptr_t>(low + stack_bytes) & ~std::uintptr_t{63};
  auto* const b = new (reinterpret_cast<void*>(top - 64)) beginning{entry, argument};
  top = (top - 64 - sizeof(ucontext_t)) & ~std::uintptr_t{63};
  auto* const start = new (reinterpret_cast<void*>(top)) ucontext_t;
  getcontext(start);
  start->uc_link = nullptr;
  start->uc_stack.ss_sp = low;
  start->uc_stack.ss_size = top - reinterpret_cast<std::uintptr_t>(low);
  const auto address = reinterpret_cast<std::uintptr_t>(b);
  makecontext(start, reinterpret_cast<void (*)()>(&begin_fiber), 2, static_cast<unsigned>(address >> 16 >> 16),
              static_cast<unsigned>(address));
  c.stack_pointer = start;
  *c.stack = {nullptr, low, stack_bytes};
}

#endif

stack_set::stack_set(std::size_t count) : count_(count) {
  const std::size_t bytes = guard_bytes + count * stride;
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw out_of_memory("cpu: no room for the stacks of a raw kernel's threads");
  memory_ = static_cast<std::byte*>(mapped);
  mprotect(memory_, guard_bytes, PROT_NONE);  // the first stack, which runs whole blocks, ends here
}

stack_set::~stack_set() { munmap(memory_, guard_bytes + count_ * stride); }

std::byte* stack_set::bottom(std::size_t k) const { return memory_ + guard_bytes + k * stride; }

bool stack_set::is_whole(std::size_t k) const { return std::memcmp(bottom(k), &mark, sizeof mark) == 0; }

}  // namespace sinter::jit
