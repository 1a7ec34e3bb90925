import { describe, expect, it } from '@jest/globals';
import { linesOf, migrationName } from './setting-lines.js';

describe('migrationName', () => {
  it('migrationName returns the name of the file, and leaves a name of another form unchanged', () => {
    expect(migrationName('connection_removed_0000000000039')).toBe('0039_connection_removed');
    expect(migrationName('init')).toBe('init');
  });
});

describe('linesOf', () => {
  it('makes a line for each value inside objects and lists of objects, and one line for a list of plain values', () => {
    expect(
      linesOf({
        timeScale: 1,
        gate: { capacity: 100 },
        http: { corsOrigins: ['https://a.example', 'https://b.example'], returnUrls: [] },
        encryptionKeys: [{ version: 1, key: '[redacted]' }],
        warnings: ['shown elsewhere'],
      }),
    ).toEqual([
      { name: 'timeScale', value: '1', isSecret: false },
      { name: 'gate.capacity', value: '100', isSecret: false },
      { name: 'http.corsOrigins', value: 'https://a.example, https://b.example', isSecret: false },
      { name: 'http.returnUrls', value: '–', isSecret: false },
      { name: 'encryptionKeys.0.version', value: '1', isSecret: false },
      { name: 'encryptionKeys.0.key', value: '[redacted]', isSecret: true },
    ]);
  });
});
