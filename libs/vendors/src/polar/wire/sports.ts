/**
 * Our sport for Polar's `detailed_sport_info`, and for `sport`, whose coarse values have the same names. Any other name is a Workout: Polar
 * documents 175 names, adds more, and has no rule for them.
 */
const SPORTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    Run: [
      'RUNNING',
      'JOGGING',
      'ROAD_RUNNING',
      'TRACK_AND_FIELD_RUNNING',
      'ULTRARUNNING_RUNNING',
      'TRIATHLON_RUNNING',
      'DUATHLON_RUNNING',
    ],
    TrailRun: [
      'TRAIL_RUNNING',
      'CROSS_COUNTRY_RUNNING',
      'OFFROADDUATHLON_RUNNING',
      'OFFROADTRIATHLON_RUNNING',
      'ORIENTEERING',
    ],
    VirtualRun: ['TREADMILL_RUNNING'],
    Ride: ['CYCLING', 'ROAD_BIKING', 'TRIATHLON_CYCLING', 'DUATHLON_CYCLING'],
    GravelRide: ['GRAVEL'],
    MountainBikeRide: [
      'MOUNTAIN_BIKING',
      'OFFROADDUATHLON_CYCLING',
      'OFFROADTRIATHLON_CYCLING',
      'ORIENTEERING_MTB',
    ],
    VirtualRide: ['INDOOR_CYCLING', 'SPINNING', 'LES_MILLS_RPM', 'LES_MILLS_SPRINT', 'LES_MILLS_TRIP'],
    EBikeRide: ['E_BIKE'],
    Handcycle: ['PARASPORTS_HAND_CYCLING'],
    Walk: ['WALKING', 'NORDIC_WALKING'],
    Hike: ['HIKING', 'RUCKING'],
    Snowshoe: ['SNOWSHOE_TREKKING'],
    Swim: [
      'SWIMMING',
      'POOL_SWIMMING',
      'OPEN_WATER_SWIMMING',
      'TRIATHLON_SWIMMING',
      'OFFROADTRIATHLON_SWIMMING',
    ],
    WeightTraining: ['STRENGTH_TRAINING', 'KETTLEBELL', 'LES_MILLS_BODYPUMP', 'LES_MILLS_GRIT_STRENGTH'],
    HighIntensityIntervalTraining: ['HIIT', 'LES_MILLS_GRIT_ATHLETIC', 'LES_MILLS_GRIT_CARDIO'],
    Yoga: ['YOGA'],
    Pilates: ['PILATES'],
    Elliptical: ['CROSS_TRAINER'],
    StairStepper: ['STAIR_WORKOUT'],
    Rowing: ['ROWING'],
    VirtualRow: ['INDOOR_ROWING'],
    NordicSki: ['CROSS-COUNTRY_SKIING', 'XC_SKIING_CLASSIC', 'XC_SKIING_FREESTYLE', 'ORIENTEERING_SKI'],
    BackcountrySki: ['BACKCOUNTRY_SKIING'],
    AlpineSki: ['DOWNHILL_SKIING', 'TELEMARK_SKIING'],
    Snowboard: ['SNOWBOARDING'],
    RollerSki: ['ROLLER_SKIING_CLASSIC', 'ROLLER_SKIING_FREESTYLE'],
    IceSkate: ['ICE_SKATING', 'SKATING'],
    InlineSkate: ['INLINE_SKATING', 'ROLLER_BLADING'],
    Skateboard: ['SKATEBOARDING'],
    RockClimbing: ['CLIMBING', 'VERTICALSPORTS_WALLCLIMBING', 'VERTICALSPORTS_OUTCLIMBING'],
    Canoeing: ['WATERSPORTS_CANOEING'],
    Kayaking: ['WATERSPORTS_KAYAKING'],
    Kitesurf: ['WATERSPORTS_KITESURFING'],
    Sail: ['WATERSPORTS_SAILING'],
    Surfing: ['WATERSPORTS_SURFING'],
    Windsurf: ['WATERSPORTS_WINDSURFING'],
    StandUpPaddling: ['SUP'],
    Wheelchair: ['PARASPORTS_WHEELCHAIR'],
    Golf: ['GOLF'],
    Soccer: ['SOCCER', 'FUTSAL'],
    Basketball: ['BASKETBALL'],
    Volleyball: ['VOLLEYBALL', 'BEACH_VOLLEYBALL'],
    Cricket: ['CRICKET'],
    Tennis: ['TENNIS', 'BEACH_TENNIS'],
    Badminton: ['BADMINTON'],
    Squash: ['SQUASH'],
    TableTennis: ['TABLE_TENNIS'],
    Padel: ['PADEL'],
    Pickleball: ['PICKLEBALL'],
    Dance: [
      'DANCING',
      'BALLET_DANCING',
      'BALLROOM_DANCING',
      'FITNESS_DANCING',
      'JAZZ_DANCING',
      'LATIN_DANCING',
      'MODERN_DANCING',
      'SHOW_DANCING',
      'STREET_DANCING',
    ],
  }).flatMap(([ours, theirs]) => theirs.map((name) => [name, ours] as const)),
);

const OTHER = 'Workout';

/** The detailed name decides. If we do not know it, the coarse one does. */
export function sportTypeOf(detailed: string | null, coarse: string | null): string {
  return SPORTS.get(detailed ?? '') ?? SPORTS.get(coarse ?? '') ?? OTHER;
}

/** Polar's exercises have no name: `ROAD_RUNNING` becomes "Road running". */
export function nameOf(detailed: string | null, coarse: string | null): string {
  const words = (detailed || coarse || OTHER).replaceAll('_', ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
