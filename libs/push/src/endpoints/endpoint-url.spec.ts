import { describe, expect, it } from '@jest/globals';
import { urlProblem } from './endpoint-url.js';

const PUBLIC = 'must lead to a public address';

describe('the URL of a webhook endpoint', () => {
  it.each([
    'https://app.example/hooks',
    'https://app.example:443/hooks?team=1',
    'https://app.example:8443/',
    'https://8.8.8.8/hooks',
    'https://[2606:4700:4700::1111]/hooks',
  ])('urlProblem accepts %s', (url) => {
    expect(urlProblem(url, false)).toBeUndefined();
  });

  it.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f.0.0.1/',
    'https://0177.0.0.1/',
    'https://0.0.0.0/',
    'https://0/',
    'https://10.0.0.1:8443/',
    'https://169.254.169.254/latest/meta-data',
    'https://192.168.1.1./',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[::ffff:a00:1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[fd00::1]/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://api.localhost/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://redis:8443/',
  ])('urlProblem refuses %s, which is not public', (url) => {
    expect(urlProblem(url, false)).toBe(PUBLIC);
    expect(urlProblem(url, true)).toBeUndefined();
  });

  it.each([
    ['http://app.example/', 'must begin with https://'],
    ['ftp://app.example/', 'must begin with https://'],
    ['javascript:alert(1)', 'must begin with https://'],
    ['app.example/hooks', 'must be a URL'],
    ['https://app.example/a b', 'must be a URL'],
    ['https://', 'must be a URL'],
    ['https://user:secret@app.example/', 'must not contain a user or password'],
    [`https://app.example/${'a'.repeat(2_000)}`, 'must have at most 2000 characters'],
    ['https://app.example:25/', 'must use port 443, or a port from 1024 on'],
    ['https://app.example:22/', 'must use port 443, or a port from 1024 on'],
  ])('urlProblem refuses %s: it %s', (url, problem) => {
    expect(urlProblem(url, false)).toBe(problem);
  });

  it('urlProblem accepts http and private hosts only where private endpoints are allowed', () => {
    expect(urlProblem('http://127.0.0.1:4000/hooks', true)).toBeUndefined();
    expect(urlProblem('ftp://127.0.0.1/', true)).toBe('must begin with https://');
  });
});
