import { setFlagsFromString } from 'node:v8';

/**
 * Makes V8 collect the old part of the heap once it has grown by half. By default the heap on a machine with much memory may first grow to
 * four times its size: a worker that drains a backlog of nights had 380 MB, of which it used 65 (Node 20). With this setting it has 200 to
 * 240, in the same processor time. NODE_OPTIONS does not take the flag.
 */
export function limitHeapGrowth(): void {
  setFlagsFromString('--heap-growing-percent=50');
}
