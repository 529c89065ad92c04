import { expect, test } from 'vitest';
import { closureOf, nameOf, serverPackages } from './locked-packages.ts';

const LOCK = {
  packages: {
    '': { version: '1.0.0' },
    'node_modules/a': { version: '1.0.0', dependencies: { '@s/b': '2' } },
    'node_modules/a/node_modules/@s/b': { version: '2.0.0', dependencies: { c: '1' } },
    'node_modules/@s/b': { version: '1.0.0' },
    'node_modules/c': { version: '1.0.0', dev: true, dependencies: { a: '1' } },
  },
};

test('a package counts with all that it needs, each in the version that it gets', () => {
  expect(closureOf(LOCK, ['a']).toSorted()).toEqual([
    'node_modules/a',
    'node_modules/a/node_modules/@s/b',
    'node_modules/c',
  ]);
  expect(closureOf(LOCK, ['a'], { without: ['a'] })).toEqual(['node_modules/a']);
  expect(() => closureOf(LOCK, ['absent'])).toThrow('package-lock.json has no absent');
});

test('the server has the packages that not only development needs', () => {
  expect(serverPackages(LOCK).map(nameOf)).toEqual(['a', '@s/b', '@s/b']);
});
