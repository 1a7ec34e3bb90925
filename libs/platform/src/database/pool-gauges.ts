import { Gauge } from 'prom-client';
import { type DataSource } from 'typeorm';

/** The part of node-postgres' pool that is observed. */
interface ObservedPool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

interface PoolOfRole {
  readonly pool: ObservedPool;
  readonly size: number;
}

const pools = new Map<string, PoolOfRole>();

new Gauge({
  name: 'database_pool_connections',
  help: 'Connections to Postgres that a pool of this process has, by whether they are in use',
  labelNames: ['pool', 'state'],
  collect() {
    for (const [name, { pool }] of pools) {
      this.set({ pool: name, state: 'idle' }, pool.idleCount);
      this.set({ pool: name, state: 'busy' }, pool.totalCount - pool.idleCount);
    }
  },
});

new Gauge({
  name: 'database_pool_size',
  help: 'Most connections to Postgres that a pool of this process may have',
  labelNames: ['pool'],
  collect() {
    for (const [name, { size }] of pools) this.set({ pool: name }, size);
  },
});

new Gauge({
  name: 'database_pool_waiting',
  help: 'Statements and transactions that wait for a connection of a pool',
  labelNames: ['pool'],
  collect() {
    for (const [name, { pool }] of pools) this.set({ pool: name }, pool.waitingCount);
  },
});

/** Shows a pool in the metrics. Roles in one process have a pool each, so the pool has the name of its sessions in Postgres. */
export function observePool(name: string, size: number, { driver }: Pick<DataSource, 'driver'>): void {
  // TypeORM's type of the driver does not name the pool.
  const { master } = driver as unknown as { readonly master: ObservedPool };
  pools.set(name, { pool: master, size });
}
