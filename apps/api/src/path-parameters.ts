import { type OpenAPIObject } from '@nestjs/swagger';

/**
 * Every operation names the parameters of its own path and no others. A handler that reads its path by itself declares none, and
 * one of several paths declares them for all.
 */
export function withPathParameters(document: OpenAPIObject): OpenAPIObject {
  for (const [path, { get }] of Object.entries(document.paths)) {
    if (!get) continue;
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const declared = (get.parameters ?? []).filter(
      (one) => !('in' in one) || one.in !== 'path' || names.includes(one.name),
    );
    const missing = names.filter((name) => !declared.some((one) => 'in' in one && one.name === name));
    get.parameters = [
      ...declared.map((one) => ('in' in one && one.in === 'path' ? { ...one, required: true } : one)),
      ...missing.map((name) => ({
        name,
        in: 'path' as const,
        required: true,
        schema: { type: 'string' as const },
      })),
    ];
  }
  return document;
}
