// Writes dist/node_modules from the packages that package.json names. Node looks there before node_modules, so the compiled code stays as
// it is. All packages are bundled together, so that each of them, and each of their dependencies, is there once.
import { readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import path from 'node:path';
import { rolldown } from 'rolldown';

const root = path.resolve(import.meta.dirname, '../..');
const FOLDER = path.join(root, 'dist', 'node_modules');
const SHARED = '.shared';
// These stay in node_modules: the SDK that only a traced process loads, and a package that looks for its native code beside itself. They
// depend on no bundled package of which there may be one only (the API of OpenTelemetry keeps its state in a global).
const NOT_BUNDLED = [/^@opentelemetry\/(?!api$)/, /^msgpackr$/];

const isBundled = (name) => !NOT_BUNDLED.some((pattern) => pattern.test(name));
const { dependencies } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const names = Object.keys(dependencies).filter(isBundled);

// An id that ends with .mjs gets the default export of CommonJS that Node gives to a module.
const entryId = (name) => `entry:${name}.mjs`;
const entries = new Map();
for (const name of names) entries.set(entryId(name), await entryOf(name));

const packages = {
  name: 'packages',
  async resolveId(source, importer, { kind }) {
    if (entries.has(source)) return source;
    if (isBuiltin(source) || !isBundled(source)) return { id: source, external: true };
    const from = entries.has(importer) ? path.join(root, 'package.json') : importer;
    // Optional packages that are not installed are left to Node, whose error the caller expects.
    return (await this.resolve(source, from, { skipSelf: true, kind })) ?? { id: source, external: true };
  },
  load: (id) => entries.get(id),
};

/** A module that exports each name of the package. The names of CommonJS packages are known only after loading them. */
async function entryOf(name) {
  const exported = Object.keys(await import(name)).filter(
    (key) => !['module.exports', '__esModule'].includes(key),
  );
  return [
    `import * as all from '${name}';`,
    ...exported.map((key, index) => `const _${index} = all[${JSON.stringify(key)}];`),
    `export { ${exported.map((key, index) => `_${index} as ${JSON.stringify(key)}`).join(', ')} };`,
  ].join('\n');
}

const bundle = await rolldown({
  cwd: root,
  platform: 'node',
  input: Object.fromEntries(names.map((name) => [name, entryId(name)])),
  plugins: [packages],
});
await bundle.write({
  dir: FOLDER,
  format: 'esm',
  entryFileNames: '[name]/index.js',
  chunkFileNames: `${SHARED}/[name]-[hash].js`,
  // Each package runs when it is first imported, as in Node.
  strictExecutionOrder: true,
  // V8 keeps the source of each file in memory, and with one character beyond Latin-1 it takes two bytes for each. Names and the comments of
  // licenses stay.
  charset: 'ascii',
  comments: { legal: true, annotation: false, jsdoc: false },
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
  intro: 'const __filename = import.meta.filename, __dirname = import.meta.dirname;',
});
const describe = (name, facts) =>
  writeFileSync(path.join(FOLDER, name, 'package.json'), JSON.stringify(facts));
for (const name of names) describe(name, { name, type: 'module', exports: './index.js' });
describe(SHARED, { type: 'module' });
