import { z } from 'zod';

/** Ids are strings; small ones may come as numbers too. */
export const Id = z.union(
  [z.string().min(1).max(64), z.int().positive().transform(String)],
  'expected an id',
);
