// The arrows of docs/architecture.md, checked. A folder may import what stands on a lower level, and only its front door.
// test/boundaries proves with a deliberate violation that these rules can fail.

const levels = [
  ['platform'],
  ['rate-limit', 'reliability', 'processing'],
  ['vendors'],
  ['connections'],
  ['webhooks'],
  ['activities', 'streams', 'sleep', 'playback'],
  ['backfill', 'run-shape', 'write-back', 'account', 'push'],
  ['admin'],
];

// Generated athletes for the simulator, the tests and the bench. It stands beside the levels: no lib may use it.
const generator = 'training-world';

// The folders of libs/vendors that are no vendor.
const vendorFolder = '(?!(?:call|capabilities)/)([^/]+)';

const anyOf = (folders) => `(${folders.join('|')})`;

const upwards = levels.flatMap((folders, level) => {
  const higher = levels.slice(level + 1).flat();
  return folders.map((folder) => ({
    name: `${folder}-imports-lower-levels-only`,
    comment: `libs/${folder} stands on level ${level}: what it needs of a sibling or of something above, it declares as an interface`,
    severity: 'error',
    // A harness is test code: the tests of the budget use the real vendors' limits.
    from: { path: `^libs/${folder}/`, pathNot: '\\.harness\\.ts$' },
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
      from: { path: `^libs/(?!${anyOf([...levels.flat(), generator])}/)` },
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
      name: 'vendors-are-apart',
      comment: 'A vendor is a folder of its own: what two vendors share stands beside their folders',
      severity: 'error',
      from: { path: `^libs/vendors/src/${vendorFolder}/` },
      to: { path: `^libs/vendors/src/${vendorFolder}/`, pathNot: '^libs/vendors/src/$1/' },
    },
    {
      name: 'only-the-registry-knows-vendors',
      comment:
        'All other code takes a vendor from the registry. For now, index.ts exports their clients as well',
      severity: 'error',
      from: { path: `^libs/vendors/src/(?!${vendorFolder}/|(registry|index)\\.ts$)` },
      to: { path: `^libs/vendors/src/${vendorFolder}/` },
    },
    {
      name: 'simulator-is-independent',
      comment: 'It judges the product by its own count, so it shares no code with it',
      severity: 'error',
      from: { path: '^apps/simulator/' },
      to: { path: `^(libs/(?!${generator}/)|apps/(?!simulator/))` },
    },
    {
      name: 'training-world-is-no-product-code',
      comment: 'Only the simulator, tests and the bench use generated athletes; the product never does',
      severity: 'error',
      from: { path: `^(libs/(?!${generator}/)|apps/(?!simulator/))` },
      to: { path: `^libs/${generator}/` },
    },
    {
      name: 'training-world-is-independent',
      comment:
        'The run-shape accuracy test compares the product with it, so it shares no code with the product',
      severity: 'error',
      from: { path: `^libs/${generator}/` },
      to: { path: `^(libs/(?!${generator}/)|apps/)` },
    },
    {
      name: 'apps-are-apart',
      comment: 'Only apps/all puts roles together',
      severity: 'error',
      from: { path: '^apps/(api|worker)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'console-is-apart',
      comment: 'It runs in a browser and knows the product only by docs/openapi.json',
      severity: 'error',
      from: { path: '^apps/console/' },
      to: { path: '^(libs/|apps/(?!console/))' },
    },
    {
      name: 'console-is-not-imported',
      comment: 'The api serves its built files; no process loads its code',
      severity: 'error',
      from: { path: '^(libs/|apps/(?!console/))' },
      to: { path: '^apps/console/' },
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
