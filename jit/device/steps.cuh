// Windows of planes: jit/codegen/emit_step_planes.cpp.

//@cuda is_whole
// Whether vectors of N elements from here on are at whole ones in all rows of an array.
template <int N, class T>
SINTER_FUNCTION bool is_whole(const T* from, int pitch) {
  return pitch % N == 0 && reinterpret_cast<unsigned long long>(from) % (N * sizeof(T)) == 0;
}

//@cuda fetch_cells
// N neighbours of a row, the first of which is its element `at`: zeros for those that it doesn't have. When `whole`, it
// has all or none.
template <class T, int N>
SINTER_FUNCTION pack<T, N> fetch_cells(const T* from, int at, int size, bool whole) {
  if (whole && at >= 0 && at < size) return load_pack<T, N>(from, true);
  pack<T, N> result = {};
  if (!whole)
    for (int k = 0; k < N; ++k)
      if (at + k >= 0 && at + k < size) result.at[k] = from[k];
  return result;
}

//@cuda leave_cells
// The other way round. Without vectors, those that belong to the domain, of which the first is its element `i`.
template <class T, int N>
SINTER_FUNCTION void leave_cells(T* to, const pack<T, N>& cells, int at, int size, int i, int extent, bool whole) {
  if (whole) {
    if (at >= 0 && at < size) store_pack(to, cells, true);
    return;
  }
  for (int k = 0; k < N; ++k)
    if (i + k >= 0 && i + k < extent) to[k] = cells.at[k];
}
