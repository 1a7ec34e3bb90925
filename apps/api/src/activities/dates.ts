// What is outside of these is a mistake, and Postgres does not take every date that JavaScript has.
export const EARLIEST = new Date('1900-01-01T00:00:00Z');
export const LATEST = new Date('2200-01-01T00:00:00Z');
