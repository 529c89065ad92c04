/**
 * Which part of the program may import which (ARCHITECTURE.md, "The rules"). A type-only import has no effect at run
 * time and still counts as an import, except where a rule says otherwise.
 */

/** Tests and what only they use: they may reach anywhere. */
const TEST =
  '\\.test\\.ts$|\\.arbitrary\\.ts$|^src/testing/|/(conformance|library-peer|library-client|scripted-peer|carrier-harness)\\.ts$';
/** Every folder of src that is not an engine is a feature. */
const FEATURE = '^src/(?!lib/|db/|http/|dispatch/|carriers/|testing/)[^/]+/';
/** The files that put the program together. */
const TOP = '^src/(main|cli|serve|serve-commands|api|worker|gauges|sandbox|doctor|open-database)\\.ts$';

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const code = (path, pathNot = []) => ({ path, pathNot: [TEST, ...pathNot] });

module.exports = {
  forbidden: [
    forbid('no-cycle', 'No file imports itself by way of others, by type neither.', {}, { circular: true }),
    forbid('resolvable', 'Every import leads to a file or a package.', {}, { couldNotResolve: true }),
    forbid(
      'errors-imports-nothing',
      'Every layer may throw one.',
      { path: '^src/errors\\.ts$' },
      { path: '^src/|(^|/)node_modules/' },
    ),
    forbid('lib-is-the-floor', 'lib imports nothing of ours.', code('^src/lib/'), { path: '^src/(?!lib/)' }),
    forbid(
      'carriers-know-protocols-only',
      'A carrier knows no database, no HTTP server, no feature.',
      code('^src/carriers/'),
      { path: ['^src/(?!carriers/|lib/)', '(^|/)node_modules/(pg|fastify|@fastify)/'] },
    ),
    forbid(
      'carrier-contract-is-neutral',
      'The contract names no protocol.',
      { path: '^src/carriers/(carrier|outcome|events)\\.ts$' },
      { path: '^src/carriers/[^/]+/' },
    ),
    forbid('db-knows-no-feature', 'The database engine serves all.', code('^src/db/'), {
      path: '^src/(?!db/|lib/|errors\\.ts)',
    }),
    forbid(
      'dispatch-knows-no-feature',
      'Dispatch moves chunks; of carriers it knows the contract.',
      code('^src/dispatch/'),
      { path: '^src/(?!dispatch/|db/|lib/|errors\\.ts|carriers/(carrier|outcome|events)\\.ts)' },
    ),
    forbid(
      'http-knows-no-feature',
      'The HTTP engine serves all features; it may name the types that routes are given.',
      code('^src/http/'),
      { path: [FEATURE, '^src/(carriers|dispatch)/'], dependencyTypesNot: ['type-only'] },
    ),
    forbid(
      'only-routes-import-http',
      'Routes and callbacks speak HTTP; everything behind them must work without it.',
      code(FEATURE, ['/(routes|callbacks)\\.ts$']),
      { path: '^src/http/(?!(actor|deps)\\.ts$)' },
    ),
    forbid(
      'http-types-only',
      'Who calls (actor) and what routes are given (deps) are types to the others.',
      code(FEATURE, ['/(routes|callbacks)\\.ts$']),
      { path: '^src/http/(actor|deps)\\.ts$', dependencyTypesNot: ['type-only'] },
    ),
    forbid(
      'nothing-imports-the-top',
      'What puts the program together is imported by nothing else.',
      code('^src/[^/]+/', ['/commands\\.ts$']),
      { path: TOP },
    ),
    forbid('commands-import-cli-only', 'Of the top, commands know the command line.', code('/commands\\.ts$'), {
      path: TOP,
      pathNot: '^src/cli\\.ts$',
    }),
    forbid('no-test-code', 'The program does not run what is for tests.', code('^src/'), { path: TEST }),
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
      'api, ui and app serve all pages; the list of pages is given to them.',
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
