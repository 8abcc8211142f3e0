/* 24 multiply-adds of float4 a thread and step: twelve independent chains, and with x and y they fit 16 vector registers. */
#define STEP a = mad(a, x, y), b = mad(b, x, y), c = mad(c, x, y);
[numthreads(128, 1, 1)]
void ceiling(uint3 id : SV_DispatchThreadID)
{
	float x = from[id.x], y = x * 0.5;
	float4 a = x + float4(0, 1, 2, 3), b = a + 4, c = a + 8;
	for (int s = 0; s < n; s++) { STEP STEP STEP STEP STEP STEP STEP STEP }
	to[id.x] = dot(a + b + c, 1);
}
