import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';

// One alias a lib, the same names package.json "imports" gives to the compiled code.
const libs = readdirSync(new URL('./libs', import.meta.url));
const moduleNameMapper = {
  ...Object.fromEntries(libs.map((lib) => [`^#${lib}$`, `<rootDir>/libs/${lib}/src/index.ts`])),
  '^(\\.{1,2}/.*)\\.js$': '$1',
};

const base = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper,
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.local'],
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

// unit: nothing but Node. servers: real Postgres, Redis and NATS, named by the environment. e2e: the built processes.
export default {
  // Only what fails takes so long; on a machine with a load of 20, a world with four histories took more than a minute.
  testTimeout: 180_000,
  // One more than there are cores: most of these tests wait, for servers, leases and time-outs.
  maxWorkers: availableParallelism() + 1,
  testSequencer: '<rootDir>/test/harness/longest-first.mjs',
  // What a file has loaded stays in memory after it: without this, a worker ends with more than two gigabytes.
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
