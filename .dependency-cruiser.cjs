/**
 * Three layers: `core` ← features ← the files of `src` itself (`main`, `serve`, `worker` …), with no cycle anywhere.
 * Type-only imports count like all others. `scripts/check-dependencies.ts` runs these rules.
 */

/** Tests may reach anywhere; their helpers are in test/support. */
const TEST = '\\.test\\.ts$';

const forbid = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const code = (path, pathNot = []) => ({ path, pathNot: [TEST, ...pathNot] });

module.exports = {
  forbidden: [
    forbid('core-knows-no-feature', 'core ← features', code('^src/core/'), { path: '^src/(?!core/)' }),
    forbid('features-know-no-main', 'features ← main', code('^src/[^/]+/'), { path: '^src/[^/]+$' }),
    forbid('no-cycle', 'No file imports itself through others, not even a type.', {}, { circular: true }),
    forbid('resolvable', 'Every import leads to a file or a package.', {}, { couldNotResolve: true }),
    forbid(
      'errors-imports-nothing',
      'Every layer may throw an error.',
      { path: '^src/core/errors\\.ts$' },
      { path: '^src/|(^|/)node_modules/' },
    ),
    forbid(
      'channels-know-protocols-only',
      'A carrier knows no database, no HTTP server, no feature.',
      code('^src/(smpp|channels)/'),
      { path: ['^src/(?!smpp/|channels/|core/[^/]+$)', '(^|/)node_modules/(pg|fastify|@fastify)/'] },
    ),
    forbid('dispatch-knows-no-feature', 'Dispatch moves chunks.', code('^src/dispatch/'), {
      path: '^src/(?!dispatch/|core/|channels/carrier\\.ts)',
    }),
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
