/* pool: a fixed number of threads and a bounded queue before them. Each server runs its handlers on one; owners may have
 * further ones. */
#ifndef PEAKD_MCP_POOL_H
#define PEAKD_MCP_POOL_H

struct mcp_pool;

struct mcp_pool *mcp_pool_new(int threads, int max_queued);
/* Runs what is queued, waits for the threads, frees. NULL is allowed. */
void mcp_pool_free(struct mcp_pool *pool);
/* Has run(arg) called on some thread. Returns -1 when the queue is full (nothing happens then); with `force`, for work that was
 * accepted before and continues, it never is. */
int mcp_pool_add(struct mcp_pool *pool, void (*run)(void *arg), void *arg, int force);

#endif
