export type Position = readonly [latitude: number, longitude: number];

/** A route in a plane: x to the east and y to the south, both in the same unit. */
interface Plane {
  readonly points: ReadonlyArray<readonly [x: number, y: number]>;
  readonly width: number;
  readonly height: number;
}

const RADIANS = Math.PI / 180;

/** Degrees of longitude are shorter away from the equator, by the cosine of the latitude. */
export function planeOf(route: readonly Position[], size: number): Plane {
  const north = Math.max(...bounds(route, 0));
  const south = Math.min(...bounds(route, 0));
  const west = Math.min(...bounds(route, 1));
  const east = Math.max(...bounds(route, 1));
  const shrink = Math.cos(((north + south) / 2) * RADIANS);
  const span = Math.max((east - west) * shrink, north - south) || 1;
  const scale = size / span;
  return {
    points: route.map(([latitude, longitude]) => [
      (longitude - west) * shrink * scale,
      (north - latitude) * scale,
    ]),
    width: (east - west) * shrink * scale,
    height: (north - south) * scale,
  };
}

// Math.min with 100,000 arguments would exceed the stack.
function bounds(route: readonly Position[], axis: 0 | 1): [number, number] {
  let min = Infinity;
  let max = -Infinity;
  for (const position of route) {
    min = Math.min(min, position[axis]);
    max = Math.max(max, position[axis]);
  }
  return [min, max];
}

/** Google's polyline: differences in 1e-5 degrees, five bits a character. */
export function decodePolyline(text: string): Position[] {
  const route: Position[] = [];
  let at = 0;
  let latitude = 0;
  let longitude = 0;
  function difference(): number {
    let value = 0;
    let shift = 0;
    let bits: number;
    do {
      bits = text.charCodeAt(at++) - 63;
      value |= (bits & 31) << shift;
      shift += 5;
    } while (bits >= 32);
    return value & 1 ? ~(value >> 1) : value >> 1;
  }
  while (at < text.length) {
    latitude += difference();
    longitude += difference();
    route.push([latitude / 1e5, longitude / 1e5]);
  }
  return route;
}
