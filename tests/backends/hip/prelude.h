/* prelude: the few words of HIP that the cross-checked kernels use, for a plain clang without ROCm's headers; see
 * test_cross.c. */
#ifndef PEAKD_TESTS_BACKENDS_HIP_PRELUDE_H
#define PEAKD_TESTS_BACKENDS_HIP_PRELUDE_H

#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __syncthreads() __builtin_amdgcn_s_barrier()

struct index3 { unsigned x, y, z; };
#define INDEX3(what) (index3{ __builtin_amdgcn_##what##_x(), __builtin_amdgcn_##what##_y(), __builtin_amdgcn_##what##_z() })
#define threadIdx INDEX3(workitem_id)
#define blockIdx INDEX3(workgroup_id)
#define blockDim INDEX3(workgroup_size)

#endif
