/* tensor: host code's tensor_map{…}. Used by core/context/host. */
#ifndef PEAKD_CORE_CONTEXT_TENSOR_H
#define PEAKD_CORE_CONTEXT_TENSOR_H

#include <lua.h>

/* tensor_map{buffer, box =, [dims =, strides =, dtype =, swizzle =, fill =]}; returns the map's handle. */
int tensor_record(lua_State *L);

#endif
