import 'reflect-metadata';
import { limitHeapGrowth, run } from '#platform';
import { loadProductConfig } from '#vendors';
import { worker } from './role.js';

limitHeapGrowth();
await run(loadProductConfig, worker);
