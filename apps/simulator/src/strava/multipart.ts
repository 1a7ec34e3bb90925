import { type FastifyInstance } from 'fastify';

/** Strava's documents show `curl -F`, so its OAuth and subscription calls take such forms as well. */
export function acceptMultipart(app: FastifyInstance): void {
  app.addContentTypeParser<Buffer>(
    'multipart/form-data',
    { parseAs: 'buffer' },
    async ({ headers }: { headers: Record<string, string | string[] | undefined> }, body: Buffer) => {
      const type = String(headers['content-type']);
      try {
        const form = await new Response(new Uint8Array(body), {
          headers: { 'content-type': type },
        }).formData();
        return Object.fromEntries(form);
      } catch {
        return {};
      }
    },
  );
}
