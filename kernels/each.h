/*
 * Operations on each element (kernels/memory.h), in either memory: cpu/memory.c and gpu/lists.cu
 * define
 *
 *     FOR_EACH(operation, n, (parameters), (arguments), statement)
 *
 * as a function of the host, or a kernel and its launch, that runs the statement for each i < n;
 * ADD(a, b) as a + b, to the bit as the host adds; and STORE(to, value) as an assignment that other
 * threads may make too.
 */

/* clang-format off */
FOR_EACH(add, count,
         (float *sums, const float *values, float scale, size_t count),
         (sums, values, scale, count),
         sums[i] = ADD(sums[i], scale * values[i]);)

FOR_EACH(scatter_add_where, count,
         (const struct gw_entry *entries, size_t count, const struct gw_entry *list,
          size_t list_count, bool listed, float *dense),
         (entries, count, list, list_count, listed, dense),
         if (gw_entries_have(list, list_count, entries[i].index) == listed) {
             dense[entries[i].index] = ADD(dense[entries[i].index], entries[i].value);
         })

/* An index may occur more than once. */
FOR_EACH(clear_entries, count,
         (const struct gw_entry *entries, size_t count, float *dense),
         (entries, count, dense),
         STORE(&dense[entries[i].index], 0);)

FOR_EACH(list_indices, count,
         (const struct gw_entry *entries, size_t count, uint32_t *indices),
         (entries, count, indices),
         indices[i] = entries[i].index;)

FOR_EACH(list_values, count,
         (const struct gw_entry *entries, size_t count, float *values),
         (entries, count, values),
         values[i] = entries[i].value;)

FOR_EACH(flag_indices, n,
         (const struct gw_entry *entries, size_t count, const uint32_t *indices, size_t n,
          float *flags),
         (entries, count, indices, n, flags),
         flags[i] = gw_entries_have(entries, count, indices[i]) ? 1 : 0;)

FOR_EACH(take, count,
         (float *dense, const uint32_t *indices, size_t count, float *values),
         (dense, indices, count, values),
         values[i] = dense[indices[i]];
         dense[indices[i]] = 0;)

FOR_EACH(put, count,
         (float *dense, const uint32_t *indices, size_t count, const float *values),
         (dense, indices, count, values),
         dense[indices[i]] = values == NULL ? 0 : values[i];)
/* clang-format on */
