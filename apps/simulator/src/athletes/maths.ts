/**
 * Bound once for the loops over thousands of samples: in the context that tests run in, each look-up of the global
 * `Math` costs a hundred times the rounding it is for.
 */
export const { asin, ceil, cos, exp, floor, imul, max, min, pow, round: nearest, sin, sqrt } = Math;
