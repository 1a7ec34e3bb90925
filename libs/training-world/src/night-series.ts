import { hypnogramOf, STAGES } from './hypnogram.js';
import { type Night } from './nights.js';
import { randomFor } from './random.js';

interface NightSeries {
  /** One value per 300 seconds; null if the sensor lost contact. */
  heartRate: (number | null)[];
  hrv: (number | null)[];
  /** One digit (1 none … 4 active) per 30 seconds. */
  movement: string;
}

export function nightSeriesOf(night: Night): NightSeries {
  const hypnogram = hypnogramOf(night);
  const samples = Math.ceil(hypnogram.length / 10);
  return {
    heartRate: heartRates(night, samples),
    hrv: variabilities(night, samples),
    movement: movements(night, hypnogram),
  };
}

/** The heart rate falls to `lowestHeartRate` for two thirds of the night and then rises. 3 % of the values are null. */
function heartRates(night: Night, samples: number): (number | null)[] {
  const { averageHeartRate, lowestHeartRate } = night;
  if (averageHeartRate === null || lowestHeartRate === null) return new Array<null>(samples).fill(null);
  const random = randomFor(night.seed, 'night heart rate');
  const shape = Array.from({ length: samples }, (_, index) => {
    const share = samples > 1 ? index / (samples - 1) : 0;
    return (share - 0.65) ** 2 + 0.12 * random.next();
  });
  const lowest = Math.min(...shape);
  const mean = shape.reduce((sum, value) => sum + value - lowest, 0) / samples;
  const scale = mean > 0 ? (averageHeartRate - lowestHeartRate) / mean : 0;
  return shape.map((value) =>
    random.chance(0.03) ? null : Math.round((lowestHeartRate + (value - lowest) * scale) * 10) / 10,
  );
}

function variabilities(night: Night, samples: number): (number | null)[] {
  const { averageHrvMs } = night;
  if (averageHrvMs === null) return new Array<null>(samples).fill(null);
  const random = randomFor(night.seed, 'night variability');
  return Array.from({ length: samples }, () =>
    random.chance(0.05) ? null : Math.max(5, Math.round(averageHrvMs * (1 + 0.22 * random.noise()))),
  );
}

function movements(night: Night, hypnogram: Uint8Array): string {
  const random = randomFor(night.seed, 'movement');
  let digits = '';
  for (const stage of hypnogram) {
    if (stage === STAGES.awake) digits += random.int(2, 4);
    else digits += random.chance(stage === STAGES.deep ? 0.02 : 0.12) ? 2 : 1;
  }
  return digits;
}
