import { cos, exp, max, min, pow, sin, sine } from './maths.js';
import { type Place } from './places.js';
import { hashText, Random } from './random.js';

/** The town's hill for hill repetitions. It is a straight climb at a constant grade with gentle sides. */
export interface Hill {
  readonly footX: number;
  readonly footY: number;
  /** Unit vector uphill. */
  readonly dirX: number;
  readonly dirY: number;
}

const HILL_LENGTH_M = 700;
const HILL_GRADE = 0.07;
const HILL_WIDTH_M = 600;
const HILL_REACH_M = 4000;
// The hill is far away, so that it adds no climbing to everyday runs.
const HILL_AWAY_M = 7000;
// Summaries compute climbing from points about 330 m apart, so they would miss shorter waves.
const SHORTEST_WAVE_M = 2400;

/** Heights around a town, by metres east (x) and north (y) of its centre. The same point always has the same height. */
export class Terrain {
  readonly hill: Hill;
  readonly track: { readonly x: number; readonly y: number };
  private readonly waves: Float64Array;

  constructor(private readonly place: Place) {
    const random = new Random(hashText(place.city));
    this.waves = wavesOf(place, random);
    const bearing = random.between(0, 2 * Math.PI);
    const outOfTown = random.between(0, 2 * Math.PI);
    this.hill = {
      footX: HILL_AWAY_M * cos(outOfTown),
      footY: HILL_AWAY_M * sin(outOfTown),
      dirX: cos(bearing),
      dirY: sin(bearing),
    };
    this.track = { x: random.between(-2000, 2000), y: random.between(-2000, 2000) };
  }

  heightAt(x: number, y: number): number {
    const { waves } = this;
    let height = this.place.elevationM;
    for (let i = 0; i < waves.length; i += 4) {
      height += waves[i]! * sine(waves[i + 1]! * x + waves[i + 2]! * y + waves[i + 3]!);
    }
    return height + this.hillAt(x, y);
  }

  private hillAt(x: number, y: number): number {
    const { footX, footY, dirX, dirY } = this.hill;
    const east = x - footX;
    const north = y - footY;
    const along = east * dirX + north * dirY;
    if (along <= 0 || along > HILL_REACH_M) return 0;
    const across = north * dirX - east * dirY;
    if (Math.abs(across) > 3 * HILL_WIDTH_M) return 0;
    const beyondTop = max(0, along - HILL_LENGTH_M);
    const ridge = HILL_GRADE * min(along, HILL_LENGTH_M) * exp(-beyondTop / 600);
    return ridge * exp(-((across / HILL_WIDTH_M) ** 2));
  }
}

const known = new Map<string, Terrain>();

export function terrainOf(place: Place): Terrain {
  let terrain = known.get(place.city);
  if (!terrain) known.set(place.city, (terrain = new Terrain(place)));
  return terrain;
}

/** Four numbers per wave: height, east wave number, north wave number, phase. */
function wavesOf(place: Place, random: Random): Float64Array {
  const waves: number[] = [];
  for (let i = 0; i < 3; i++) {
    const length = SHORTEST_WAVE_M * pow(1.9, i) * random.between(0.9, 1.1);
    const bearing = random.between(0, 2 * Math.PI);
    const number = (2 * Math.PI) / length;
    const height = (place.reliefM * pow(1.4, i)) / 2;
    waves.push(height, number * cos(bearing), number * sin(bearing), random.between(0, 6.28));
  }
  return Float64Array.from(waves);
}
