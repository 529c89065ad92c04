import { expect, test } from 'vitest';
import { splitHosts } from './database-url.ts';

test.each([
  ['postgres://u:p@db:5432/x', ['postgres://u:p@db:5432/x']],
  ['postgres://u:p,q@db/x', ['postgres://u:p,q@db/x']],
  ['postgres://db/x?application_name=a,b', ['postgres://db/x?application_name=a,b']],
  ['postgresql://a,b:5433/x', ['postgresql://a/x', 'postgresql://b:5433/x']],
  [
    'postgres://u:p@a:1,[::1]:2,c/x?sslmode=verify-full',
    [
      'postgres://u:p@a:1/x?sslmode=verify-full',
      'postgres://u:p@[::1]:2/x?sslmode=verify-full',
      'postgres://u:p@c/x?sslmode=verify-full',
    ],
  ],
])('%s names its hosts', (url, hosts) => {
  expect(splitHosts(url)).toEqual(hosts);
});
