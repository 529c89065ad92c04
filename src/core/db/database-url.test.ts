import { expect, test } from 'vitest';
import { nameOfDatabase, readTls, splitHosts } from './database-url.ts';

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

test.each([
  ['postgres://u:p@db/x', 'x at db:5432'],
  ['postgres://u:p@a:1,[::1]:2,c/x%20y?sslmode=verify-full', 'x y at a:1, [::1]:2, c:5432'],
  ['postgres://u:p@db', 'u at db:5432'],
  ['postgres://u:p@%2Fvar%2Frun%2Fpostgresql/x', 'x at /var/run/postgresql'],
  ['postgres://u:p@localhost/x?host=/tmp', 'x at /tmp'],
])('%s is named without its password', (url, name) => {
  expect(nameOfDatabase(url)).toBe(name);
});

test('what is about TLS is taken out of the URL, and the rest is as it was', () => {
  const { server, tls } = readTls(
    'postgres://u:p%40@a,b:5433/x?sslmode=require&application_name=a%20b&uselibpqcompat=true',
  );
  expect(server).toBe('postgres://u:p%40@a,b:5433/x?application_name=a+b');
  expect(tls).toMatchObject({ mode: 'require', checks: 'nothing' });
  expect(readTls('postgres://a/x?sslmode=disable').server).toBe('postgres://a/x');
});

test.each([
  'postgres:///x?host=/run/postgresql&sslmode=require',
  'postgres://u:p@%2Frun%2Fpostgresql/x?sslmode=require',
])('%s is a socket, which is not encrypted', (url) => {
  expect(readTls(url).tls.mode).toBe('disable');
});
