export { Athlete } from '#connections';
