/**
 * Options of an LRUCache with at most `count` entries. With the option `max` the cache would reserve the room of all entries when it is made:
 * 2 MB for 50,000.
 */
export const atMostEntries = (count: number) => ({ maxSize: count, sizeCalculation: () => 1 });
