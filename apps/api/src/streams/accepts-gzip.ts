/** Whether an Accept-Encoding allows gzip. Without one nothing may be assumed, so not. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const weights = new Map<string, number>();
  for (const entry of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const [, quality] = /^q=(\d(?:\.\d*)?)$/.exec(parameters.find((one) => one.startsWith('q=')) ?? '') ?? [];
    weights.set(coding, Number(quality ?? 1));
  }
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0;
}
