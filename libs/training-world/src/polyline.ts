import { nearest } from './maths.js';

let scratch = Buffer.allocUnsafe(4096);

// Latitude and longitude take at most six characters each, because 180 degrees in units of 1e-5 need 25 bits.
const LONGEST_POINT = 12;

/** Google's encoded polyline of the first `count` points, five decimals. */
export function encodePolyline(
  count: number,
  latOf: (index: number) => number,
  lngOf: (index: number) => number,
): string {
  if (scratch.length < count * LONGEST_POINT) scratch = Buffer.allocUnsafe(count * LONGEST_POINT);
  let at = 0;
  let lastLat = 0;
  let lastLng = 0;
  for (let i = 0; i < count; i++) {
    const lat = nearest(latOf(i) * 1e5);
    const lng = nearest(lngOf(i) * 1e5);
    at = writeDelta(at, lat - lastLat);
    at = writeDelta(at, lng - lastLng);
    lastLat = lat;
    lastLng = lng;
  }
  return scratch.toString('latin1', 0, at);
}

function writeDelta(start: number, delta: number): number {
  let at = start;
  let rest = delta < 0 ? ~(delta << 1) : delta << 1;
  while (rest >= 0x20) {
    scratch[at++] = (0x20 | (rest & 0x1f)) + 63;
    rest >>>= 5;
  }
  scratch[at++] = rest + 63;
  return at;
}
