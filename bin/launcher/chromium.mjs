import { Failure } from './failure.mjs';

/** The browser among the programs found; without one, what to do about it. */
export function browserIn({ found, complaint }) {
  if (found.chromium) return found.chromium.file;
  throw new Failure(
    'The browser tests need Chromium or Chrome: install one (on Debian: apt-get install chromium), or set CHROMIUM_PATH.' +
      (complaint ? `\nInstalling failed with:\n${complaint}` : ''),
  );
}
