export interface Place {
  readonly city: string;
  readonly state: string;
  readonly country: string;
  /** IANA. */
  readonly timeZone: string;
  readonly lat: number;
  readonly lng: number;
  readonly elevationM: number;
  /** Height of the ordinary hills around the city. */
  readonly reliefM: number;
  /** Mean temperature of the year. `julyC` is the difference of July from this mean, negative in the southern hemisphere. */
  readonly meanC: number;
  readonly julyC: number;
}

// Includes half-hour zones, both hemispheres and zones without summer time. Date code often has bugs in such zones.
export const PLACES: readonly Place[] = [
  place('Berlin', 'Berlin', 'Germany', 'Europe/Berlin', 52.517, 13.389, 45, 8, 10, 10),
  place('London', 'England', 'United Kingdom', 'Europe/London', 51.507, -0.128, 30, 12, 11, 7),
  place('Lisbon', 'Lisboa', 'Portugal', 'Europe/Lisbon', 38.722, -9.139, 60, 22, 17, 6),
  place('Dublin', 'Leinster', 'Ireland', 'Europe/Dublin', 53.35, -6.26, 30, 12, 10, 5),
  place('Girona', 'Catalunya', 'Spain', 'Europe/Madrid', 41.983, 2.824, 90, 28, 15, 9),
  place('Oslo', 'Oslo', 'Norway', 'Europe/Oslo', 59.913, 10.739, 80, 26, 6, 12),
  place('New York', 'New York', 'United States', 'America/New_York', 40.713, -74.006, 25, 9, 13, 12),
  place('Boulder', 'Colorado', 'United States', 'America/Denver', 40.015, -105.27, 1655, 30, 10, 13),
  place('Flagstaff', 'Arizona', 'United States', 'America/Phoenix', 35.198, -111.651, 2106, 30, 8, 11),
  place('San Diego', 'California', 'United States', 'America/Los_Angeles', 32.716, -117.161, 40, 18, 18, 4),
  place('São Paulo', 'São Paulo', 'Brazil', 'America/Sao_Paulo', -23.55, -46.633, 760, 18, 20, -4),
  place('Iten', 'Elgeyo-Marakwet', 'Kenya', 'Africa/Nairobi', 0.67, 35.508, 2400, 30, 17, -1),
  place('Cape Town', 'Western Cape', 'South Africa', 'Africa/Johannesburg', -33.925, 18.424, 50, 22, 17, -5),
  place('Pune', 'Maharashtra', 'India', 'Asia/Kolkata', 18.52, 73.856, 560, 20, 25, 0),
  place('Tokyo', 'Tokyo', 'Japan', 'Asia/Tokyo', 35.681, 139.767, 25, 10, 16, 11),
  place('Adelaide', 'South Australia', 'Australia', 'Australia/Adelaide', -34.929, 138.601, 50, 18, 17, -6),
  place('Melbourne', 'Victoria', 'Australia', 'Australia/Melbourne', -37.814, 144.963, 40, 14, 15, -6),
  place('Auckland', 'Auckland', 'New Zealand', 'Pacific/Auckland', -36.849, 174.763, 50, 20, 15, -5),
];

/** Mean temperature at a time of the year. The warmest day is 20 July, and half a year later in the southern hemisphere. */
export function seasonalC(place: Place, ms: number): number {
  const yearFraction = (ms / 86_400_000 - 200) / 365.25;
  return place.meanC + place.julyC * Math.cos(2 * Math.PI * yearFraction);
}

function place(
  city: string,
  state: string,
  country: string,
  timeZone: string,
  lat: number,
  lng: number,
  elevationM: number,
  reliefM: number,
  meanC: number,
  julyC: number,
): Place {
  return { city, state, country, timeZone, lat, lng, elevationM, reliefM, meanC, julyC };
}
