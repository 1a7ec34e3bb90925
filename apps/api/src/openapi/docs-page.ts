import { type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { describeApi } from './document.js';

const SCRIPT_PATH = '/docs/page.js';

/**
 * `/docs` for people, `/openapi.json` for programs. Both are public, so the text is made once. Swagger's own routes would make it at each
 * request: 4 ms of processor time for JSON, 24 ms for YAML.
 */
export function serveDocs(app: NestFastifyApplication, publicUrl: string): void {
  const server = app.getHttpAdapter().getInstance();
  let known: OpenAPIObject | undefined;
  let text: string | undefined;
  const document = () => (known ??= describeApi(app, publicUrl));
  server.get('/openapi.json', { config: { access: 'public' } }, (_request, reply) =>
    reply.type('application/json; charset=utf-8').send((text ??= JSON.stringify(document()))),
  );
  server.get(SCRIPT_PATH, { config: { access: 'public' } }, (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').send(SCRIPT),
  );
  SwaggerModule.setup('docs', app, document, {
    raw: [],
    customSiteTitle: 'Pacekeeper API',
    customfavIcon: ICON,
    customCss: STYLE,
    // Relative, since a proxy may have put a path in front.
    customJs: `.${SCRIPT_PATH}`,
    swaggerOptions: { defaultModelsExpandDepth: 0, displayRequestDuration: true },
  });
}

// The template has no viewport, so a phone would show the page as wide as on a desk. Inline scripts are not allowed.
const SCRIPT = `const viewport = document.createElement('meta');
viewport.name = 'viewport';
viewport.content = 'width=device-width, initial-scale=1';
document.head.append(viewport);
`;

// Two laps of a track.
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="#0c6e5c"><rect x="2" y="8" width="28" height="16" rx="8" stroke-width="3"/><rect x="9" y="13.5" width="14" height="5" rx="2.5" stroke-width="2"/></svg>',
)}`;

// These rules are as specific as Swagger UI's own dark rules, and later in the cascade.
const STYLE = `
:root { --ink: #1b2321; --soft: #5f6b67; --paper: #f3f5f2; --card: #fff; --line: #dde3df; --accent: #0c6e5c }
html.dark-mode { --ink: #e6ece9; --soft: #93a19c; --paper: #111614; --card: #19201e; --line: #2b3532; --accent: #4cc3a9 }
html, html.dark-mode, html.dark-mode .swagger-ui, body { background: var(--paper) }
html[lang] .swagger-ui {
  .topbar, .response-col_links { display: none }
  .wrapper { max-width: 72rem; padding: 0 clamp(.75rem, 3vw, 2rem) }
  .info { margin: 2.5rem 0 1.5rem; padding-top: 1.5rem; border-top: 6px solid var(--accent); border-radius: 6px 6px 0 0 }
  .info .title { color: var(--ink); letter-spacing: -.02em }
  .info .title small { background: var(--line) }
  .info .title small pre { color: var(--ink) }
  .info .title small.version-stamp { background: var(--accent) }
  .info .title small.version-stamp pre { color: var(--card) }
  .info .description { max-width: 46rem }
  .info .description p { color: var(--ink); font-size: 15px; line-height: 1.6 }
  .info a, .info .base-url { color: var(--accent) }
  .info code, .renderedMarkdown code { color: var(--accent); background: var(--line); overflow-wrap: anywhere }
  .scheme-container { background: none; box-shadow: none; border: 0; padding: 0 0 1rem }
  .servers select { max-width: 100% }
  .btn.authorize { border-color: var(--accent); color: var(--accent) }
  .btn.authorize svg { fill: var(--accent) }
  .opblock-tag { color: var(--ink); border-color: var(--line); column-gap: 1rem; flex-wrap: wrap }
  .opblock-tag small { color: var(--soft); padding: 0 10px 0 0 }
  .opblock .opblock-summary { min-width: 0 }
  .opblock .opblock-summary-description { color: var(--soft) }
  .headers-wrapper .header-col, .response-col_description td { color: var(--ink) }
  section.models { border-color: var(--line) }
}
@media (max-width: 640px) {
  html[lang] .swagger-ui {
    .info { margin-top: 1rem }
    .info .title { font-size: 28px }
    .opblock-tag small { flex: 1 1 100%; order: 3 }
    .opblock-tag > :first-child { flex: 1 }
    .view-line-link { display: none }
    .schemes-server-container > div { flex: 1 1 100%; min-width: 0 }
    .servers label, .servers select { display: block; width: 100% }
    .opblock .opblock-summary-method { min-width: 64px; padding: 5px 0; font-size: 12px }
    .opblock .opblock-summary-path { max-width: none; font-size: 13px }
    .opblock .opblock-summary-description { padding: 2px 10px 0; text-align: left }
    .parameters-col_description { min-width: 0 }
    .parameters-col_description input, .parameters-col_description select { max-width: 100% }
    table tbody tr td:first-of-type { min-width: 5rem; max-width: 7rem; overflow-wrap: anywhere }
  }
}
`;
