/* 64 bytes a thread. */
[numthreads(128, 1, 1)]
void ceiling(uint3 id : SV_DispatchThreadID)
{
	uint step = n / 16, i = id.x;
	float4 a = from_float4[i], b = from_float4[i + step];
	float4 c = from_float4[i + 2 * step], d = from_float4[i + 3 * step];
	to_float4[i] = a, to_float4[i + step] = b, to_float4[i + 2 * step] = c, to_float4[i + 3 * step] = d;
}
