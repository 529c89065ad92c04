/**
 * Which part of the program may import which (ARCHITECTURE.md, "The rooms" and "The rules"). Type-only imports count like
 * all others, except where a rule says otherwise. `scripts/check-dependencies.ts` runs these rules and checks the order
 * inside the rooms.
 */

/** The rooms of the server, from top to bottom: a room imports those below it, never one above. */
const ROOMS = [
  'app',
  'operations',
  'cells',
  'simulators',
  'reporting',
  'engagement',
  'messaging',
  'money',
  'network',
  'media',
  'identity',
  'carriers',
  'platform',
];

/** Tests may reach anywhere; what they stand on is in test/support. */
const TEST = '\\.test\\.ts$';
/** Rooms whose routes speak HTTP, while everything behind the routes works without it. */
const FEATURE = `^src/(${ROOMS.filter((room) => !['app', 'carriers', 'platform', 'simulators'].includes(room)).join('|')})/`;

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const code = (path, pathNot = []) => ({ path, pathNot: [TEST, ...pathNot] });

const noImportUpTheOrder = ROOMS.slice(1).map((room, above) =>
  forbid(`${room}-imports-nothing-above-it`, `The order of the rooms is ${ROOMS.join(' > ')}.`, code(`^src/${room}/`), {
    path: `^src/(${ROOMS.slice(0, above + 1).join('|')})/`,
  }),
);

module.exports = {
  forbidden: [
    forbid('no-cycle', 'No file imports itself through others, not even a type.', {}, { circular: true }),
    forbid('resolvable', 'Every import leads to a file or a package.', {}, { couldNotResolve: true }),
    forbid('only-rooms', 'Everything in src is in one of the rooms.', {}, { path: `^src/(?!(${ROOMS.join('|')})/)` }),
    ...noImportUpTheOrder,
    forbid(
      'errors-imports-nothing',
      'Every layer may throw an error.',
      { path: '^src/platform/errors\\.ts$' },
      { path: '^src/|(^|/)node_modules/' },
    ),
    forbid('lib-is-the-floor', 'lib imports nothing of ours.', code('^src/platform/lib/'), {
      path: '^src/(?!platform/lib/)',
    }),
    forbid('db-knows-no-feature', 'The database engine serves all.', code('^src/platform/db/'), {
      path: '^src/(?!platform/(db|lib)/|platform/(errors|fair-queue)\\.ts)',
    }),
    forbid(
      'carriers-know-protocols-only',
      'A carrier knows no database, no HTTP server, no feature.',
      code('^src/carriers/'),
      { path: ['^src/(?!carriers/|platform/lib/)', '(^|/)node_modules/(pg|fastify|@fastify)/'] },
    ),
    forbid(
      'carrier-contract-is-neutral',
      'The contract names no protocol.',
      { path: '^src/carriers/(carrier|outcome|events)\\.ts$' },
      { path: '^src/carriers/[^/]+/' },
    ),
    forbid(
      'dispatch-knows-no-feature',
      'Dispatch moves chunks; of carriers it knows the contract.',
      code('^src/network/dispatch/'),
      { path: '^src/(?!network/dispatch/|platform/|carriers/(carrier|outcome|events)\\.ts)' },
    ),
    forbid(
      'only-routes-import-http',
      'Routes and callbacks speak HTTP; everything behind them must work without it.',
      code(FEATURE, ['/(routes|callbacks)\\.ts$']),
      { path: '^src/platform/http/(?!app\\.ts$)' },
    ),
    forbid(
      'http-types-only',
      'The dependencies of routes (app) are types to everything but routes.',
      code(FEATURE, ['/(routes|callbacks)\\.ts$']),
      { path: '^src/platform/http/app\\.ts$', dependencyTypesNot: ['type-only'] },
    ),
    forbid('no-test-code', 'The program does not run what is for tests.', code('^src/'), { path: `^test/|${TEST}` }),
    forbid(
      'console-uses-the-interface-only',
      'The console knows the server by the types of its interface.',
      { path: '^web/src/' },
      { path: '^(src|test|bench|proofs|scripts|web/e2e)/|^client/src/(?!schema\\.d\\.ts)' },
    ),
    forbid(
      'pages-do-not-know-one-another',
      'What two features of the console need stands in ui.',
      { path: '^web/src/(?!app/|api/|ui/|sign-in/)([^/]+)/' },
      { path: '^web/src/(?!app/|api/|ui/)[^/]+/', pathNot: '^web/src/$1/' },
    ),
    forbid(
      'console-engines-know-no-page',
      'api and ui serve all pages; the list of pages is given to them.',
      { path: '^web/src/(api|ui)/' },
      { path: '^web/src/(?!api/|ui/)' },
    ),
    forbid('no-dev-packages', 'The program runs without development packages.', code('^src/'), {
      dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
    }),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    exclude: { path: '^(web|client)/dist/' },
    doNotFollow: { path: '(^|/)node_modules/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
};
