/* As good as nothing. */
[numthreads(128, 1, 1)]
void ceiling(uint3 id : SV_DispatchThreadID) { to[id.x] = from[id.x] + n; }
