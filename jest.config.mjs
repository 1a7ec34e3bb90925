import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

// One alias for each lib, with the names that "imports" of package.json gives to the compiled code.
const libs = readdirSync(new URL('./libs', import.meta.url));
// The packages as `npm run build` bundles them, because jest loads each file of a package anew in each test file.
const packages = Object.keys(
  JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')).dependencies,
).filter((name) => existsSync(new URL(`./dist/node_modules/${name}/index.js`, import.meta.url)));
const moduleNameMapper = {
  ...Object.fromEntries(
    packages.map((name) => [`^${name}$`, `<rootDir>/dist/node_modules/${name}/index.js`]),
  ),
  ...Object.fromEntries(libs.map((lib) => [`^#${lib}$`, `<rootDir>/libs/${lib}/src/index.ts`])),
  '^(\\.{1,2}/.*)\\.js$': '$1',
};

const base = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper,
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.local', '<rootDir>/.cache'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
        },
        module: { type: 'es6' },
      },
    ],
  },
};

// unit needs only Node. servers needs Postgres, Redis and NATS, named by the environment. e2e runs the built processes as well.
export default {
  // A test that hangs is named after this time. A file whose tests take longer on a busy machine asks for more with `jest.setTimeout`.
  testTimeout: 90_000,
  // Three more than there are cores, because most of these tests wait for servers, leases and timeouts. With two more, a quarter of the
  // processor time was not used.
  maxWorkers: availableParallelism() + 3,
  testSequencer: '<rootDir>/test/harness/longest-first.mjs',
  // A worker keeps the modules of each test file in memory. Without this limit it grows to more than two gigabytes.
  workerIdleMemoryLimit: '700MB',
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['<rootDir>/{apps,libs,bin}/**/*.spec.ts', '<rootDir>/test/unit/**/*.spec.ts'],
      testPathIgnorePatterns: ['\\.servers\\.spec\\.ts$', '/node_modules/'],
    },
    {
      ...base,
      displayName: 'servers',
      globalSetup: '<rootDir>/test/harness/make-template.mjs',
      testMatch: ['<rootDir>/{apps,libs,test}/**/*.servers.spec.ts'],
    },
    {
      ...base,
      displayName: 'e2e',
      globalSetup: '<rootDir>/test/harness/make-template.mjs',
      testMatch: ['<rootDir>/test/e2e/**/*.spec.ts'],
    },
  ],
};
