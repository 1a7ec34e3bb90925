import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');
export const localFolder = path.join(root, '.local');
export const cacheFolder = path.join(root, '.cache');

export const inRoot = (...parts) => path.join(root, ...parts);
/** A tool from our packages, run by this very Node. */
export const tool = (...parts) => path.join(root, 'node_modules', ...parts);
