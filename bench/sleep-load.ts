/** A night as a vendor's bridge sends it: about 570 bytes, each for another user. */
export function nightOf(n: number): object {
  return {
    userId: `user-${n}`,
    date: '2025-10-02',
    durationMinutes: 300 + (n % 240),
    capturedAt: '2025-10-02T08:30:00Z',
    raw: {
      source: n % 2 ? 'oura' : 'whoop',
      qualityScore: n % 101,
      id: `6f1c9a52-0d5e-4b0e-9a3e-${String(n).padStart(12, '0')}`,
      bedtime_start: '2025-10-01T22:58:30.000+02:00',
      bedtime_end: '2025-10-02T06:41:00.000+02:00',
      type: 'long_sleep',
      time_in_bed: 27_750,
      awake_time: 2_820,
      deep_sleep_duration: 5_160,
      rem_sleep_duration: 5_970,
      light_sleep_duration: 13_800,
      efficiency: 90,
      latency: 510,
      average_breath: 14.5,
      average_heart_rate: 54.25,
      average_hrv: 61,
      sleep_phase_5_min: '4221123442211234422112344221123',
    },
  };
}
