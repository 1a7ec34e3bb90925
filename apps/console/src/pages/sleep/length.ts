type Length = 'short' | 'fair' | 'good' | 'long';

/** For colours only: adults are advised to sleep seven hours and more. */
export function lengthOf(minutes: number): Length {
  if (minutes < 360) return 'short';
  if (minutes < 420) return 'fair';
  return minutes < 480 ? 'good' : 'long';
}

/** 403 → `6 h 43 min`. */
export function hours(minutes: number | null): string {
  if (minutes === null) return '–';
  const whole = Math.round(minutes);
  return `${Math.floor(whole / 60)} h ${String(whole % 60).padStart(2, '0')} min`;
}
