/* judge_calls: inlined wherever they are called, these would take a compiler ten seconds. */
__noinline__ void stream_values(const struct stream *s, uint64_t first, double *to, size_t n);
__noinline__ void stream_declared(const struct stream *s, uint64_t first, double *to, size_t n);
__noinline__ void stream_probabilities(const struct stream *s, uint64_t first, enum stream_weights weights, double *to, size_t n);
__noinline__ uint64_t stream_permuted(uint64_t key, uint64_t count, uint64_t i);
__noinline__ void special_values(const struct stream *s, enum plan_values values, uint64_t first, double *to, size_t n);
__noinline__ double special_pattern(const struct stream *s, enum plan_values values, uint64_t i, double v);
__noinline__ double special_natural(const struct stream *s, uint64_t i, double v);
__noinline__ void special_integers(const struct stream *s, enum plan_values values, uint64_t first, uint64_t *to, size_t n);
