// What a lifted HLSL context (lift.h) calls in place of the intrinsics, which round doubles to float. Relative errors are near
// 1e-15, for arguments in the range of float. Sections: those whose words occur in the context's text come in front of it; the
// section without words always does. All series are Taylor's.
//@
#define PEAKD_VECTORS(name) \
double name(double x) { return name##1(x); } \
double2 name(double2 v) { return double2(name##1(v.x), name##1(v.y)); } \
double3 name(double3 v) { return double3(name##1(v.x), name##1(v.y), name##1(v.z)); } \
double4 name(double4 v) { return double4(name##1(v.x), name##1(v.y), name##1(v.z), name##1(v.w)); }
#define PEAKD_VECTORS2(name) \
double name(double a, double b) { return name##1(a, b); } \
double2 name(double2 a, double2 b) { return double2(name##1(a.x, b.x), name##1(a.y, b.y)); } \
double3 name(double3 a, double3 b) { return double3(name(a.xy, b.xy), name##1(a.z, b.z)); } \
double4 name(double4 a, double4 b) { return double4(name(a.xy, b.xy), name(a.zw, b.zw)); }
#define PEAKD_VECTORS3(name) \
double name(double a, double b, double c) { return name##1(a, b, c); } \
double2 name(double2 a, double2 b, double2 c) { return double2(name##1(a.x, b.x, c.x), name##1(a.y, b.y, c.y)); } \
double3 name(double3 a, double3 b, double3 c) { return double3(name(a.xy, b.xy, c.xy), name##1(a.z, b.z, c.z)); } \
double4 name(double4 a, double4 b, double4 c) { return double4(name(a.xy, b.xy, c.xy), name(a.zw, b.zw, c.zw)); }
double peakd_nan() { return double(asfloat(0x7fc00000u)); }
double peakd_inf() { return double(asfloat(0x7f800000u)); }
bool peakd_finite(double x) { return abs(x) < 1.7976931348623157e308L; }
double peakd_two(int k) { return asdouble(0u, uint(k + 1023) << 20); }
double peakd_trunc1(double x)
{
	if (!(abs(x) < 4503599627370496.0L)) return x;
	double high = double(int(x * 4.76837158203125e-7L)) * 2097152;
	return high + double(int(x - high));
}
double peakd_floor1(double x) { double t = peakd_trunc1(x); return t > x ? t - 1 : t; }
double peakd_ceil1(double x) { double t = peakd_trunc1(x); return t < x ? t + 1 : t; }
double peakd_round1(double x)
{
	double low = peakd_floor1(x), d = x - low;
	bool odd = peakd_floor1(low * 0.5L) * 2 != low;
	return d > 0.5L || (d == 0.5L && odd) ? low + 1 : low;
}
double peakd_frac1(double x) { return x - peakd_floor1(x); }
double peakd_fmod1(double x, double y)
{
	double ax = abs(x), ay = abs(y);
	if (!peakd_finite(x) || !(ay > 0)) return peakd_nan();
	if (!(ay <= ax)) return x;
	double r = ax - ay * peakd_trunc1(ax / ay);
	r = r < 0 ? r + ay : r >= ay ? r - ay : r;
	return x < 0 ? -r : r;
}
// Newton's iteration from the float; far from 1 the argument is scaled by 4^k first.
double peakd_sqrt1(double x)
{
	double scale = 1;
	if (!(x > 0) || !peakd_finite(x)) return x == 0 || x > 0 ? x : peakd_nan();
	[loop] while (x < 1e-30L) { x *= 1.2676506002282294e30L; scale *= 8.881784197001252e-16L; }
	[loop] while (x > 1e30L) { x *= 7.888609052210118e-31L; scale *= 1125899906842624.0L; }
	double s = double(sqrt(float(x)));
	s = 0.5L * (s + x / s);
	return 0.5L * (s + x / s) * scale;
}
double peakd_rsqrt1(double x) { return 1 / peakd_sqrt1(x); }
double peakd_rcp1(double x) { return 1 / x; }
// e^r - 1 for |r| <= 0.36
double peakd_near(double r)
{
	double p = 1.605904383682161460e-10L;
	p = p * r + 2.087675698786809898e-9L;
	p = p * r + 2.505210838544171878e-8L;
	p = p * r + 2.755731922398589065e-7L;
	p = p * r + 2.755731922398589065e-6L;
	p = p * r + 2.480158730158730159e-5L;
	p = p * r + 1.984126984126984127e-4L;
	p = p * r + 1.388888888888888889e-3L;
	p = p * r + 8.333333333333333333e-3L;
	p = p * r + 4.166666666666666667e-2L;
	p = p * r + 1.666666666666666667e-1L;
	return r + r * r * (p * r + 0.5L);
}
double peakd_scaled(double y, int k) { return y * peakd_two(k / 2) * peakd_two(k - k / 2); }
double peakd_exp1(double x)
{
	if (!(abs(x) < 745)) return x > 0 ? peakd_inf() : x < 0 ? 0 : x;
	int k = int(x * 1.4426950408889634L + (x < 0 ? -0.5L : 0.5L));
	return peakd_scaled(1 + peakd_near((x - k * 0.6931471803691238L) - k * 1.9082149292705877e-10L), k);
}
double peakd_exp21(double x)
{
	if (!(abs(x) < 1075)) return x > 0 ? peakd_inf() : x < 0 ? 0 : x;
	int k = int(x + (x < 0 ? -0.5L : 0.5L));
	return peakd_scaled(1 + peakd_near((x - k) * 0.6931471805599453L), k);
}
double peakd_expm1(double x) { return abs(x) < 0.36L ? peakd_near(x) : peakd_exp1(x) - 1; }
// x = 2^k m; the result is log(m), m in [0.7, 1.5)
double peakd_log_part(double x, out int k)
{
	k = 0;
	[loop] while (x < 1e-30L) { x *= 1.2676506002282294e30L; k -= 100; }
	[loop] while (x > 1e30L) { x *= 7.888609052210118e-31L; k += 100; }
	int e = int(asuint(float(x)) >> 23) - 127;
	double m = x * peakd_two(-e);
	if (m > 1.4142135L) { m *= 0.5L; e++; }
	k += e;
	double s = (m - 1) / (m + 1), z = s * s, p = 1 / 25.0L;
	p = p * z + 4.347826086956521739e-2L;
	p = p * z + 4.761904761904761905e-2L;
	p = p * z + 5.263157894736842105e-2L;
	p = p * z + 5.882352941176470588e-2L;
	p = p * z + 6.666666666666666667e-2L;
	p = p * z + 7.692307692307692308e-2L;
	p = p * z + 9.090909090909090909e-2L;
	p = p * z + 1.111111111111111111e-1L;
	p = p * z + 1.428571428571428571e-1L;
	p = p * z + 2.000000000000000000e-1L;
	p = p * z + 3.333333333333333333e-1L;
	return 2 * (s + s * z * p);
}
double peakd_log1(double x)
{
	int k;
	if (!(x > 0) || !peakd_finite(x)) return x == 0 ? -peakd_inf() : x > 0 ? x : peakd_nan();
	double part = peakd_log_part(x, k);
	return k * 0.6931471803691238L + (part + k * 1.9082149292705877e-10L);
}
double peakd_log21(double x)
{
	int k;
	if (!(x > 0) || !peakd_finite(x)) return peakd_log1(x);
	double part = peakd_log_part(x, k);
	return k + part * 1.4426950408889634L;
}
double peakd_log101(double x) { return peakd_log1(x) * 0.4342944819032518L; }
double peakd_pow1(double x, double y)
{
	double whole = peakd_trunc1(y);
	if (whole == y && abs(y) <= 32 && x > 0) {
		double p = 1;
		for (int n = int(abs(y)); n > 0; n--) p *= x;
		return y < 0 ? 1 / p : p;
	}
	return y == 0 ? 1 : peakd_exp21(y * peakd_log21(x));
}
double peakd_step1(double edge, double x) { return x >= edge ? 1 : 0; }
double peakd_lerp1(double a, double b, double t) { return a + t * (b - a); }
double peakd_saturate1(double x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
double peakd_smoothstep1(double a, double b, double x)
{
	double t = peakd_saturate1((x - a) / (b - a));
	return t * t * (3 - 2 * t);
}
double peakd_degrees1(double x) { return x * 57.29577951308232L; }
double peakd_radians1(double x) { return x * 0.017453292519943295L; }
double peakd_ldexp1(double x, double e) { return x * peakd_exp21(e); }
PEAKD_VECTORS(peakd_trunc)
PEAKD_VECTORS(peakd_floor)
PEAKD_VECTORS(peakd_ceil)
PEAKD_VECTORS(peakd_round)
PEAKD_VECTORS(peakd_frac)
PEAKD_VECTORS(peakd_sqrt)
PEAKD_VECTORS(peakd_rsqrt)
PEAKD_VECTORS(peakd_rcp)
PEAKD_VECTORS(peakd_exp)
PEAKD_VECTORS(peakd_exp2)
PEAKD_VECTORS(peakd_log)
PEAKD_VECTORS(peakd_log2)
PEAKD_VECTORS(peakd_log10)
PEAKD_VECTORS(peakd_saturate)
PEAKD_VECTORS(peakd_degrees)
PEAKD_VECTORS(peakd_radians)
PEAKD_VECTORS2(peakd_fmod)
PEAKD_VECTORS2(peakd_pow)
PEAKD_VECTORS2(peakd_step)
PEAKD_VECTORS2(peakd_ldexp)
PEAKD_VECTORS3(peakd_lerp)
PEAKD_VECTORS3(peakd_smoothstep)
double peakd_modf(double x, out double whole) { whole = peakd_trunc1(x); return x - whole; }
bool peakd_isfinite(double x) { return peakd_finite(x); }
bool2 peakd_isfinite(double2 v) { return bool2(peakd_finite(v.x), peakd_finite(v.y)); }
bool3 peakd_isfinite(double3 v) { return bool3(peakd_isfinite(v.xy), peakd_finite(v.z)); }
bool4 peakd_isfinite(double4 v) { return bool4(peakd_isfinite(v.xy), peakd_isfinite(v.zw)); }
bool peakd_isinf(double x) { return abs(x) > 1.7976931348623157e308L; }
bool2 peakd_isinf(double2 v) { return bool2(peakd_isinf(v.x), peakd_isinf(v.y)); }
bool3 peakd_isinf(double3 v) { return bool3(peakd_isinf(v.xy), peakd_isinf(v.z)); }
bool4 peakd_isinf(double4 v) { return bool4(peakd_isinf(v.xy), peakd_isinf(v.zw)); }
#define trunc peakd_trunc
#define floor peakd_floor
#define ceil peakd_ceil
#define round peakd_round
#define frac peakd_frac
#define fmod peakd_fmod
#define sqrt peakd_sqrt
#define rsqrt peakd_rsqrt
#define rcp peakd_rcp
#define exp peakd_exp
#define exp2 peakd_exp2
#define log peakd_log
#define log2 peakd_log2
#define log10 peakd_log10
#define pow peakd_pow
#define step peakd_step
#define lerp peakd_lerp
#define saturate peakd_saturate
#define smoothstep peakd_smoothstep
#define degrees peakd_degrees
#define radians peakd_radians
#define ldexp peakd_ldexp
#define modf peakd_modf
#define isfinite peakd_isfinite
#define isinf peakd_isinf
//@ sin cos tan sincos
// |x| <= pi/4 after the reduction, whose first product is exact up to about 10^6
double peakd_reduced(double x, out int quadrant)
{
	double k = peakd_round1(x * 0.6366197723675814L);
	quadrant = int(k - 4 * peakd_floor1(k * 0.25L));
	return ((x - k * 1.5707963267341256L) - k * 6.077100506303966e-11L) - k * 2.0222662487959506e-21L;
}
double peakd_sin_near(double r)
{
	double z = r * r, p = 2.811457254345520763e-15L;
	p = p * z - 7.647163731819816476e-13L;
	p = p * z + 1.605904383682161460e-10L;
	p = p * z - 2.505210838544171878e-8L;
	p = p * z + 2.755731922398589065e-6L;
	p = p * z - 1.984126984126984127e-4L;
	p = p * z + 8.333333333333333333e-3L;
	p = p * z - 1.666666666666666667e-1L;
	return r + r * z * p;
}
double peakd_cos_near(double r)
{
	double z = r * r, p = -1.561920696858622646e-16L;
	p = p * z + 4.779477332387385297e-14L;
	p = p * z - 1.147074559772972471e-11L;
	p = p * z + 2.087675698786809898e-9L;
	p = p * z - 2.755731922398589065e-7L;
	p = p * z + 2.480158730158730159e-5L;
	p = p * z - 1.388888888888888889e-3L;
	p = p * z + 4.166666666666666667e-2L;
	return (1 - 0.5L * z) + z * z * p;
}
double peakd_turned(double x, int turn)
{
	int q;
	if (!peakd_finite(x)) return peakd_nan();
	double r = peakd_reduced(x, q);
	q = (q + turn) & 3;
	double y = (q & 1) != 0 ? peakd_cos_near(r) : peakd_sin_near(r);
	return (q & 2) != 0 ? -y : y;
}
double peakd_sin1(double x) { return peakd_turned(x, 0); }
double peakd_cos1(double x) { return peakd_turned(x, 1); }
double peakd_tan1(double x) { return peakd_sin1(x) / peakd_cos1(x); }
PEAKD_VECTORS(peakd_sin)
PEAKD_VECTORS(peakd_cos)
PEAKD_VECTORS(peakd_tan)
void peakd_sincos(double x, out double s, out double c) { s = peakd_sin1(x); c = peakd_cos1(x); }
#define sin peakd_sin
#define cos peakd_cos
#define tan peakd_tan
#define sincos peakd_sincos
//@ sinh cosh tanh
double peakd_sinh1(double x)
{
	if (!(abs(x) < 700)) return x > 0 ? peakd_inf() : x < 0 ? -peakd_inf() : x;
	double e = peakd_expm1(abs(x)), y = 0.5L * (e + e / (e + 1));
	return x < 0 ? -y : y;
}
double peakd_cosh1(double x) { double e = peakd_exp1(abs(x)); return 0.5L * (e + 1 / e); }
double peakd_tanh1(double x)
{
	if (!(abs(x) < 20)) return x > 0 ? 1 : x < 0 ? -1 : x;
	double e = peakd_expm1(2 * abs(x)), y = e / (e + 2);
	return x < 0 ? -y : y;
}
PEAKD_VECTORS(peakd_sinh)
PEAKD_VECTORS(peakd_cosh)
PEAKD_VECTORS(peakd_tanh)
#define sinh peakd_sinh
#define cosh peakd_cosh
#define tanh peakd_tanh
//@ asin acos atan atan2
// Two halvings of the angle leave at most pi/16.
double peakd_atan1(double x)
{
	double a = abs(x), r = a > 1 ? 1 / a : a;
	r = r / (1 + peakd_sqrt1(1 + r * r));
	r = r / (1 + peakd_sqrt1(1 + r * r));
	double z = r * r, p = 1 / 25.0L;
	p = 4.347826086956521739e-2L - p * z;
	p = 4.761904761904761905e-2L - p * z;
	p = 5.263157894736842105e-2L - p * z;
	p = 5.882352941176470588e-2L - p * z;
	p = 6.666666666666666667e-2L - p * z;
	p = 7.692307692307692308e-2L - p * z;
	p = 9.090909090909090909e-2L - p * z;
	p = 1.111111111111111111e-1L - p * z;
	p = 1.428571428571428571e-1L - p * z;
	p = 2.000000000000000000e-1L - p * z;
	p = 3.333333333333333333e-1L - p * z;
	double y = 4 * (r - r * z * p);
	y = a > 1 ? 1.5707963267948966L - y : y;
	return x < 0 ? -y : x == x ? y : x;
}
double peakd_atan21(double y, double x)
{
	if (x == 0 && y == 0) return 0;
	double a = x == 0 ? (y > 0 ? 1.5707963267948966L : -1.5707963267948966L) : peakd_atan1(y / x);
	return x < 0 ? (y < 0 ? a - 3.141592653589793L : a + 3.141592653589793L) : a;
}
double peakd_asin1(double x) { return peakd_atan21(x, peakd_sqrt1((1 - x) * (1 + x))); }
double peakd_acos1(double x) { return peakd_atan21(peakd_sqrt1((1 - x) * (1 + x)), x); }
PEAKD_VECTORS(peakd_atan)
PEAKD_VECTORS(peakd_asin)
PEAKD_VECTORS(peakd_acos)
PEAKD_VECTORS2(peakd_atan2)
#define atan peakd_atan
#define asin peakd_asin
#define acos peakd_acos
#define atan2 peakd_atan2
//@ min max clamp
// Integers keep the integer forms; mixed arguments need forms of their own, for the front end finds them ambiguous. As in the
// drivers, the number wins over NaN.
double peakd_min1(double a, double b) { return a <= b || b != b ? a : b; }
double peakd_max1(double a, double b) { return a >= b || b != b ? a : b; }
#define PEAKD_MIXED(name, D, I) \
D name(D a, I b) { return name(a, D(b)); } \
D name(I a, D b) { return name(D(a), b); }
#define PEAKD_WITH_SCALAR(name, V, S) \
V name(V a, S b) { return name(a, V(V(0) + b)); } \
V name(S a, V b) { return name(V(V(0) + a), b); }
#define PEAKD_WHOLE(name, op, V) V name(V a, V b) { return a op b ? a : b; }
#define PEAKD_EXTREME(name, op) \
PEAKD_VECTORS2(name) \
PEAKD_WHOLE(name, op, int) PEAKD_WHOLE(name, op, int2) PEAKD_WHOLE(name, op, int3) PEAKD_WHOLE(name, op, int4) \
PEAKD_WHOLE(name, op, uint) PEAKD_WHOLE(name, op, uint2) PEAKD_WHOLE(name, op, uint3) PEAKD_WHOLE(name, op, uint4) \
PEAKD_MIXED(name, double, int) PEAKD_MIXED(name, double, uint) PEAKD_MIXED(name, uint, int) \
PEAKD_MIXED(name, double2, int2) PEAKD_MIXED(name, double3, int3) PEAKD_MIXED(name, double4, int4) \
PEAKD_WITH_SCALAR(name, double2, double) PEAKD_WITH_SCALAR(name, double2, int) PEAKD_WITH_SCALAR(name, double2, uint) \
PEAKD_WITH_SCALAR(name, double3, double) PEAKD_WITH_SCALAR(name, double3, int) PEAKD_WITH_SCALAR(name, double3, uint) \
PEAKD_WITH_SCALAR(name, double4, double) PEAKD_WITH_SCALAR(name, double4, int) PEAKD_WITH_SCALAR(name, double4, uint) \
PEAKD_WITH_SCALAR(name, int2, int) PEAKD_WITH_SCALAR(name, int3, int) PEAKD_WITH_SCALAR(name, int4, int) \
PEAKD_WITH_SCALAR(name, uint2, uint) PEAKD_WITH_SCALAR(name, uint3, uint) PEAKD_WITH_SCALAR(name, uint4, uint) \
PEAKD_WITH_SCALAR(name, uint2, int) PEAKD_WITH_SCALAR(name, uint3, int) PEAKD_WITH_SCALAR(name, uint4, int)
PEAKD_EXTREME(peakd_min, <)
PEAKD_EXTREME(peakd_max, >)
#define min peakd_min
#define max peakd_max
#define clamp(x, low, high) peakd_min(peakd_max(x, low), high)
//@ dot length distance normalize cross
double peakd_dot(double a, double b) { return a * b; }
double peakd_dot(double2 a, double2 b) { return a.x * b.x + a.y * b.y; }
double peakd_dot(double3 a, double3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
double peakd_dot(double4 a, double4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
double peakd_dot(double2 a, int b) { return (a.x + a.y) * b; }
double peakd_dot(double3 a, int b) { return (a.x + a.y + a.z) * b; }
double peakd_dot(double4 a, int b) { return (a.x + a.y + a.z + a.w) * b; }
int peakd_dot(int2 a, int2 b) { return a.x * b.x + a.y * b.y; }
int peakd_dot(int3 a, int3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
int peakd_dot(int4 a, int4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
uint peakd_dot(uint2 a, uint2 b) { return a.x * b.x + a.y * b.y; }
uint peakd_dot(uint3 a, uint3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
uint peakd_dot(uint4 a, uint4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
#define PEAKD_LENGTHS(V) \
double peakd_length(V v) { return peakd_sqrt1(peakd_dot(v, v)); } \
double peakd_distance(V a, V b) { return peakd_length(a - b); } \
V peakd_normalize(V v) { return v / peakd_length(v); }
PEAKD_LENGTHS(double2)
PEAKD_LENGTHS(double3)
PEAKD_LENGTHS(double4)
double3 peakd_cross(double3 a, double3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }
#define dot peakd_dot
#define length peakd_length
#define distance peakd_distance
#define normalize peakd_normalize
#define cross peakd_cross
//@ mul transpose
#define PEAKD_MATRIX(M, V, N) \
V peakd_mul(M m, V v) { V r; for (int i = 0; i < N; i++) { double s = 0; for (int k = 0; k < N; k++) s += m[i][k] * v[k]; r[i] = s; } return r; } \
V peakd_mul(V v, M m) { V r; for (int i = 0; i < N; i++) { double s = 0; for (int k = 0; k < N; k++) s += v[k] * m[k][i]; r[i] = s; } return r; } \
M peakd_mul(M a, M b) { M r; for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { double s = 0; for (int k = 0; k < N; k++) s += a[i][k] * b[k][j]; r[i][j] = s; } return r; } \
M peakd_transpose(M m) { M r; for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) r[i][j] = m[j][i]; return r; } \
V peakd_mul(V v, double s) { return v * s; } \
V peakd_mul(double s, V v) { return s * v; } \
double peakd_mul(V a, V b) { double s = 0; for (int k = 0; k < N; k++) s += a[k] * b[k]; return s; }
PEAKD_MATRIX(double2x2, double2, 2)
PEAKD_MATRIX(double3x3, double3, 3)
PEAKD_MATRIX(double4x4, double4, 4)
double peakd_mul(double a, double b) { return a * b; }
#define mul peakd_mul
#define transpose peakd_transpose
//@
// These have no form in double here: their use is an error of the compiler, and the context is not lifted.
#define frexp peakd_has_no_frexp
#define determinant peakd_has_no_determinant
#define reflect peakd_has_no_reflect
#define refract peakd_has_no_refract
#define faceforward peakd_has_no_faceforward
#define lit peakd_has_no_lit
#define dst peakd_has_no_dst
#define float double
#define float1 double1
#define float2 double2
#define float3 double3
#define float4 double4
#define half double
#define half2 double2
#define half3 double3
#define half4 double4
#define min16float double
#define min16float2 double2
#define min16float3 double3
#define min16float4 double4
#define float2x2 double2x2
#define float2x3 double2x3
#define float2x4 double2x4
#define float3x2 double3x2
#define float3x3 double3x3
#define float3x4 double3x4
#define float4x2 double4x2
#define float4x3 double4x3
#define float4x4 double4x4
