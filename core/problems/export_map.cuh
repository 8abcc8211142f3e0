// The driver's function, found at run time so that nothing but the runtime is linked.
static CUtensorMap tensor_map(CUtensorMapDataType type, unsigned rank, void *base, const cuuint64_t *dims,
                              const cuuint64_t *strides, const cuuint32_t *box, CUtensorMapSwizzle swizzle,
                              CUtensorMapFloatOOBfill fill)
{
	static const cuuint32_t every[] = { 1, 1, 1, 1, 1 };
	CUtensorMap map;
	void *found = nullptr;
	cudaDriverEntryPointQueryResult status;
	peakd::ok(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status),
	          "cuTensorMapEncodeTiled");
	CUresult result = !found ? CUDA_ERROR_NOT_FOUND : ((decltype(&cuTensorMapEncodeTiled))found)(
		&map, type, rank, base, dims, strides, box, every, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
		CU_TENSOR_MAP_L2_PROMOTION_L2_128B, fill);
	if (result != CUDA_SUCCESS) {
		fprintf(stderr, "cuTensorMapEncodeTiled: error %d\n", (int)result);
		exit(2);
	}
	return map;
}

