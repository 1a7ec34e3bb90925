import { hypnogramOf, type Night, offsetMinutesAt, STAGES } from '#training-world';
import { localDay } from './local-time.js';

const USUAL_EFFICIENCY = 0.9;
const PHASE_SECONDS = 30;
const MOST_TRIES = 200;

export function asleepSeconds({ deepS, lightS, remS }: Night): number {
  return deepS + lightS + remS;
}

export function asleepMinutes(night: Night): number {
  return Math.round(asleepSeconds(night) / 60);
}

/** Moves or resizes a sleep, or turns a night into a nap or a nap into a night. The stages come from a new hypnogram. */
export function reshape(night: Night, shape: Partial<Pick<Night, 'startMs' | 'endMs' | 'nap'>>): Night {
  const reshaped = { ...night, ...shape };
  const phases = hypnogramOf(reshaped);
  const secondsOf = (stage: number) => phases.filter((phase) => phase === stage).length * PHASE_SECONDS;
  const awakeS = secondsOf(STAGES.awake);
  const { timeZone } = night.athlete.place;
  const endUtcOffsetMinutes = offsetMinutesAt(timeZone, reshaped.endMs);
  return {
    ...reshaped,
    deepS: secondsOf(STAGES.deep),
    lightS: secondsOf(STAGES.light),
    remS: secondsOf(STAGES.rem),
    awakeS,
    latencyS: phases.findIndex((phase) => phase !== STAGES.awake) * PHASE_SECONDS,
    efficiencyPercent: Math.max(1, Math.round(100 - (100 * awakeS) / (phases.length * PHASE_SECONDS))),
    utcOffsetMinutes: offsetMinutesAt(timeZone, reshaped.startMs),
    endUtcOffsetMinutes,
    day: localDay(reshaped.endMs, endUtcOffsetMinutes),
  };
}

/**
 * A night with exactly `seconds` asleep. The stages follow from the time in bed, so the function searches for a fitting
 * time in bed.
 */
export function lasting(night: Night, seconds: number): Night {
  let inBedS = Math.round(seconds / USUAL_EFFICIENCY / PHASE_SECONDS) * PHASE_SECONDS;
  for (let tries = 0; ; tries++) {
    const tried = reshape(night, { startMs: night.endMs - inBedS * 1000 });
    const missingS = seconds - asleepSeconds(tried);
    if (missingS === 0) return tried;
    if (tries === MOST_TRIES) return withMoreLightSleep(tried, missingS);
    inBedS += missingS;
  }
}

function withMoreLightSleep(night: Night, seconds: number): Night {
  return { ...night, startMs: night.startMs - seconds * 1000, lightS: night.lightS + seconds };
}
