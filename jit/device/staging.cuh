// Short rows in shared memory. An even pitch is made odd there, so that threads a row apart use different banks.

//@cuda put_rows
// N elements of the block's rows, from element `at` on, where they belong.
template <int pitch, class T, int N>
SINTER_FUNCTION void put_rows(T* staged, int at, const pack<T, N>& some) {
  if (pitch % 2 != 0) {
    *reinterpret_cast<pack<T, N>*>(staged + at) = some;
  } else if (pitch % N == 0) {
    T* const to = staged + at + at / pitch;
#pragma unroll
    for (int k = 0; k < N; ++k) to[k] = some.at[k];
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k) staged[at + k + (at + k) / pitch] = some.at[k];
  }
}

//@cuda fetch_rows
// The `rows` rows of `pitch` elements from `from` on, at most one for each thread, fetched by all threads of the block.
template <int threads, int pitch, class T>
SINTER_FUNCTION void fetch_rows(T* staged, const T* from, int rows) {
  constexpr int N = sizeof(T) < 16 ? 16 / sizeof(T) : 1, turns = (pitch + N - 1) / N;
  const bool aligned = reinterpret_cast<unsigned long long>(from) % (N * sizeof(T)) == 0;
  const int own = static_cast<int>(threadIdx.x) * N;
  if (rows == threads && aligned) {
    pack<T, N> some[turns];
#pragma unroll
    for (int u = 0; u < turns; ++u)
      if (own + u * threads * N < threads * pitch) some[u] = load_pack<T, N>(from + own + u * threads * N, true);
#pragma unroll
    for (int u = 0; u < turns; ++u)
      if (own + u * threads * N < threads * pitch) put_rows<pitch>(staged, own + u * threads * N, some[u]);
    return;
  }
  const int count = rows * pitch;
  for (int at = own; at < count; at += threads * N)
    put_rows<pitch>(staged, at, load_some<T, N>(from + at, count - at, aligned));
}
