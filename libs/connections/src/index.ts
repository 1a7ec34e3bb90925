export { Athlete } from './athlete.entity.js';
export { Athletes } from './athletes.js';
export { ConnectionsModule } from './connections.module.js';
