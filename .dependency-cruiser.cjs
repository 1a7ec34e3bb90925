// The arrows of docs/architecture.md, checked. A folder may import what stands on a lower level, and only its front door.
// test/boundaries proves with a deliberate violation that these rules can fail.

const levels = [
  ['platform'],
  ['rate-limit', 'reliability', 'jobs'],
  ['connections'],
  ['strava', 'oura', 'whoop'],
  ['activities', 'streams', 'sleep', 'playback'],
  ['backfill', 'run-shape', 'write-back', 'account'],
  ['admin'],
];

const anyOf = (folders) => `(${folders.join('|')})`;

const upwards = levels.flatMap((folders, level) => {
  const higher = levels.slice(level + 1).flat();
  return folders.map((folder) => ({
    name: `${folder}-imports-lower-levels-only`,
    comment: `libs/${folder} stands on level ${level}: what it needs of a sibling or of something above, it declares as an interface`,
    severity: 'error',
    from: { path: `^libs/${folder}/` },
    to: { path: `^(libs/${anyOf([...folders.filter((name) => name !== folder), ...higher])}/|apps/)` },
  }));
});

module.exports = {
  forbidden: [
    ...upwards,
    {
      name: 'known-libs-only',
      comment: 'A new lib gets a level here and in docs/architecture.md',
      severity: 'error',
      from: { path: `^libs/(?!${anyOf(levels.flat())}/)` },
      to: {},
    },
    {
      name: 'front-door-only',
      comment:
        'A lib is used through its index.ts; platform has a second door for metrics, for the reason given there',
      severity: 'error',
      from: { path: '^(libs|apps)/([^/]+)/' },
      to: {
        path: '^libs/([^/]+)/src/',
        pathNot: [
          '^libs/[^/]+/src/index\\.ts$',
          '^libs/platform/src/metrics/metrics\\.module\\.ts$',
          '^libs/$2/',
        ],
      },
    },
    {
      name: 'simulator-is-independent',
      comment: 'It judges us by its own count, so it shares no code with us',
      severity: 'error',
      from: { path: '^apps/simulator/' },
      to: { path: '^(libs/|apps/(?!simulator/))' },
    },
    {
      name: 'apps-are-apart',
      comment: 'Only apps/all puts roles together',
      severity: 'error',
      from: { path: '^apps/(api|worker)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'no-circular',
      comment: 'With ES modules a cycle between decorated classes throws at start',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-test-code-in-production',
      severity: 'error',
      from: { path: '^(libs|apps)/', pathNot: '\\.(spec|harness)\\.ts$' },
      to: { path: '(^test/|\\.(spec|harness)\\.ts$)' },
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that cannot be followed would pass every other rule',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '\\.spec\\.ts$' },
    // Resolves `#platform` to its source; by package.json it would lead into dist and every rule would pass.
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      exportsFields: ['exports'],
    },
  },
};
