export { Athlete } from '#connections';
export { type Generated } from '#training-world';
