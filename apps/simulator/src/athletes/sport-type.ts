/** The sports of Strava that the generator knows. */
export type SportType =
  'Run' | 'TrailRun' | 'Ride' | 'VirtualRide' | 'Walk' | 'Hike' | 'Swim' | 'WeightTraining';
