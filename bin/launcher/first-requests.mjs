// The requests that `npm start` shows at its end. Each line works when it is pasted into another terminal.
import path from 'node:path';

const requests = [
  { shows: 'activities', role: 'athlete', target: '/v1/activities?limit=1' },
  { shows: 'nights', role: 'athlete', target: '/v1/sleep?limit=3' },
  { shows: 'limits', role: 'admin', target: '/admin/observability' },
];

/**
 * Three curl lines, or nothing if this system cannot sign tokens. They read the token from run.json, because a token in the scrollback of
 * a terminal is a leaked secret. The path is absolute, so the lines work in any folder.
 */
export function firstRequests({ api, tokens }, runFile) {
  if (!tokens.athlete) return '';
  const lines = requests.map(({ shows, role, target }) => {
    const token = `$(node -p ${shellQuoted(`require(${JSON.stringify(path.resolve(runFile))}).tokens.${role}`)})`;
    return `  # ${shows}\n  curl -s -H "authorization: Bearer ${token}" '${api}${target}'`;
  });
  return `\n${lines.join('\n')}\n`;
}

const shellQuoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
