const REQUESTS: Readonly<Record<string, string>> = {
  auto_poll: 'automatic',
  manual_activity: 'on request',
  manual_latest: 'on request, for the latest',
};

/** Says in words what requested a processing job. */
export function requestInWords(kind: string): string {
  return REQUESTS[kind] ?? kind.replaceAll('_', ' ');
}
