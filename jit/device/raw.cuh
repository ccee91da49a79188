// What a user's elementwise kernel has of the arrays that it indexes itself, and of where it stands.

//@ ptrdiff_t
typedef decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr)) ptrdiff_t;

//@host size_t
typedef decltype(sizeof(0)) size_t;

//@ int8_t
typedef signed char int8_t;
//@ int16_t
typedef short int16_t;
//@ int32_t
typedef int int32_t;
//@ int64_t
typedef long int64_t;
//@ uint8_t
typedef unsigned char uint8_t;
//@ uint16_t
typedef unsigned short uint16_t;
//@ uint32_t
typedef unsigned int uint32_t;
//@ uint64_t
typedef unsigned long uint64_t;

//@ loop_index
// The element's index along each axis of the loop.
template <int rank>
struct loop_index {
  ptrdiff_t at[rank + 1];  // an element more, so that there is one
  ptrdiff_t count;
  static constexpr int ndim = rank;
  SINTER_MEMBER const ptrdiff_t* get() const { return at; }
  SINTER_MEMBER ptrdiff_t operator[](int axis) const { return at[axis]; }
  SINTER_MEMBER ptrdiff_t size() const { return count; }
};

//@ from_words
// A struct passed by value.
template <class S, class... W>
SINTER_FUNCTION S from_words(W... words) {
  alignas(16) unsigned long long all[] = {words...};
  static_assert(__is_trivially_copyable(S), "a struct passed by value is copied as bytes");
  static_assert(sizeof(S) <= sizeof all && sizeof(S) + 8 > sizeof all,
                "the struct has another size in the kernel's preamble than where it was passed");
  return *reinterpret_cast<const S*>(all);
}

//@ report_index
SINTER_FUNCTION void report_index(index_fault* fault, long long launch, int ordinal, long long index, long long size,
                                  long long position) {
  if (!claim(&fault->set)) return;
  fault->ordinal = ordinal;
  fault->launch = launch;
  fault->index = index;
  fault->size = size;
  fault->position = position;
  publish_fault(&fault->set);
}

//@cuda discarded_element
// What is written at bad indices goes here.
__device__ uint4 discarded_element[1];

//@host discarded_element
// What is written at bad indices goes here.
alignas(16) static thread_local unsigned char discarded_element[16];

//@ writable
template <class T>
struct writable {
  typedef T type;
};
template <class T>
struct writable<const T> {
  typedef T type;
};

//@ raw_array
// An array that the kernel indexes itself: x[i] by the element's number in C order, x[k] by an index per axis.
// Bad indices are reported; they read 0, and write nowhere.
template <class T, int rank>
struct raw_array {
  T* data;
  ptrdiff_t extents[rank + 1], steps[rank + 1];  // an element more, so that there is one; steps in elements
  bool in_order;                                 // C order, without gaps
  index_fault* fault;
  long long launch;
  int ordinal;
  long long position;

  static constexpr int ndim = rank;

  SINTER_MEMBER ptrdiff_t size() const {
    ptrdiff_t n = 1;
    for (int axis = 0; axis < rank; ++axis) n *= extents[axis];
    return n;
  }
  SINTER_MEMBER const ptrdiff_t* shape() const { return extents; }

  // In bytes, as CuPy has them.
  struct byte_strides {
    ptrdiff_t of[rank + 1];
    SINTER_MEMBER ptrdiff_t operator[](int axis) const { return of[axis]; }
  };
  SINTER_MEMBER byte_strides strides() const {
    byte_strides all;
    for (int axis = 0; axis < rank; ++axis) all.of[axis] = step(axis) * static_cast<ptrdiff_t>(sizeof(T));
    return all;
  }

  SINTER_MEMBER ptrdiff_t step(int axis) const {
    if (!in_order) return steps[axis];
    ptrdiff_t s = 1;
    for (int inner = axis + 1; inner < rank; ++inner) s *= extents[inner];
    return s;
  }

  SINTER_MEMBER T& operator[](ptrdiff_t i) const {
    const ptrdiff_t n = size();
    if (static_cast<unsigned long long>(i) >= static_cast<unsigned long long>(n)) return bad(i, n);
    if (in_order) return data[i];
    T* at = data;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const ptrdiff_t rest = i / extents[axis];
      at += (i - rest * extents[axis]) * steps[axis];
      i = rest;
    }
    return *at;
  }

  template <class I>
  SINTER_MEMBER T& operator[](const I* index) const {
    T* at = data;
    for (int axis = 0; axis < rank; ++axis) {
      const ptrdiff_t k = static_cast<ptrdiff_t>(index[axis]);
      if (static_cast<unsigned long long>(k) >= static_cast<unsigned long long>(extents[axis]))
        return bad(k, extents[axis]);
      at += k * step(axis);
    }
    return *at;
  }

  SINTER_MEMBER T& bad(ptrdiff_t index, ptrdiff_t n) const {
    report_index(fault, launch, ordinal, index, n, position);
    typedef typename writable<T>::type element;
    element* const nowhere = reinterpret_cast<element*>(&discarded_element[0]);
    *nowhere = element();
    return *nowhere;
  }
};

//@host change_at
// Replaces an element by change(element), undisturbed by others; what was there.
template <class T, class F>
static inline T change_at(T* address, F change) {
  T before = T();
  combine_at(address, [&](T old) { return change(before = old); });
  return before;
}
