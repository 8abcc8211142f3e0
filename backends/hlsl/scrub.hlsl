groupshared uint all[WORDS];
RWStructuredBuffer<uint> meeting : register(u0);
#define ADD InterlockedAdd(meeting[0], 65536u, arrived);
#define EIGHT ADD ADD ADD ADD ADD ADD ADD ADD
[numthreads(8, 1, 1)] void scrub(uint lane : SV_GroupIndex)
{
	uint word = meeting[1];
	do {
		for (uint i = lane; i < WORDS; i += 8)
			all[i] = word;
		GroupMemoryBarrierWithGroupSync();
	} while (all[lane ^ 1] != word); // without a read, drivers drop the writes
	if (lane == 0) {
		uint arrived, tries = 0;
		InterlockedAdd(meeting[0], 1u, arrived);
		do {
			EIGHT EIGHT EIGHT EIGHT
		} while (arrived % 65536 < EXPECTED && ++tries < PATIENCE);
	}
}
