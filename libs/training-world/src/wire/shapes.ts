import { type LatLng } from '../stream-keys.js';

// Ids are decimal strings in these types and bare numbers on the wire. `wireJson` converts them.

export interface MetaAthlete {
  id: string;
  resource_state: 1;
}

interface PolylineMap {
  id: string;
  resource_state: 2 | 3;
  polyline?: string;
  summary_polyline: string;
}

export interface SummaryActivity {
  resource_state: 2 | 3;
  athlete: MetaAthlete;
  name: string;
  distance: number;
  moving_time: number;
  elapsed_time: number;
  total_elevation_gain: number;
  type: string;
  sport_type: string;
  workout_type: number | null;
  device_name?: string;
  id: string;
  start_date: string;
  start_date_local: string;
  timezone: string;
  utc_offset: number;
  location_city: null;
  location_state: null;
  location_country: string | null;
  achievement_count: number;
  kudos_count: number;
  comment_count: number;
  athlete_count: number;
  photo_count: number;
  total_photo_count: number;
  map: PolylineMap;
  trainer: boolean;
  commute: boolean;
  manual: boolean;
  private: boolean;
  visibility: string;
  flagged: boolean;
  gear_id: string | null;
  start_latlng: LatLng | [];
  end_latlng: LatLng | [];
  average_speed: number;
  max_speed: number;
  average_cadence?: number;
  average_temp?: number;
  average_watts?: number;
  max_watts?: number;
  weighted_average_watts?: number;
  kilojoules?: number;
  device_watts?: boolean;
  has_heartrate: boolean;
  average_heartrate?: number;
  max_heartrate?: number;
  heartrate_opt_out: boolean;
  display_hide_heartrate_option: boolean;
  suffer_score?: number;
  elev_high?: number;
  elev_low?: number;
  upload_id: string | null;
  upload_id_str?: string;
  external_id: string | null;
  from_accepted_tag: boolean;
  pr_count: number;
  has_kudoed: boolean;
}

export interface Lap {
  id: string;
  resource_state: 2;
  name: string;
  activity: { id: string; visibility: string; resource_state: 1 };
  athlete: MetaAthlete;
  elapsed_time: number;
  moving_time: number;
  start_date: string;
  start_date_local: string;
  distance: number;
  average_speed: number;
  max_speed: number;
  lap_index: number;
  split: number;
  start_index: number;
  end_index: number;
  total_elevation_gain: number;
  average_cadence?: number;
  device_watts?: boolean;
  average_watts?: number;
  average_heartrate?: number;
  max_heartrate?: number;
  pace_zone?: number;
}

export interface Split {
  distance: number;
  elapsed_time: number;
  elevation_difference: number;
  moving_time: number;
  split: number;
  average_speed: number;
  average_grade_adjusted_speed: number | null;
  average_heartrate?: number;
  pace_zone: number;
}

export interface SummaryGear {
  id: string;
  primary: boolean;
  name: string;
  nickname: string;
  resource_state: 2;
  retired: boolean;
  distance: number;
  converted_distance: number;
}

export interface PhotosSummary {
  primary: {
    unique_id: string;
    type: 1;
    urls: Record<string, string>;
    source: 1;
    media_type: 1;
    id: null;
  } | null;
  use_primary_photo?: boolean;
  count: number;
}

export interface DetailedActivity extends SummaryActivity {
  description: string | null;
  calories: number;
  perceived_exertion: number | null;
  prefer_perceived_exertion: boolean | null;
  segment_efforts: never[];
  splits_metric?: Split[];
  splits_standard?: Split[];
  laps?: Lap[];
  best_efforts?: never[];
  gear?: SummaryGear;
  photos: PhotosSummary;
  hide_from_home: boolean;
  embed_token: string;
  available_zones: string[];
  stats_visibility: { type: string; visibility: string }[];
}

export interface ActivityZone {
  type: 'heartrate' | 'power';
  resource_state: 3;
  sensor_based: true;
  custom_zones: false;
  score?: number;
  points?: number;
  distribution_buckets: { min: number; max: number; time: number }[];
}

export interface Photo {
  unique_id: string;
  athlete_id: string;
  activity_id: string;
  activity_name: string;
  post_id: null;
  resource_state: 2;
  caption: string;
  type: 1;
  source: 1;
  status: 3;
  uploaded_at: string;
  created_at: string;
  created_at_local: string;
  urls: Record<string, string>;
  placeholder_image: null;
  sizes: Record<string, [width: number, height: number]>;
  default_photo: boolean;
  location?: LatLng;
}
