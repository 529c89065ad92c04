import { expect, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { PLATFORMS, type Platform } from '../core/channels.ts';
import { loadConfig } from '../core/config.ts';
import { many, sql } from '../core/db/query.ts';
import { startProgram } from '../serve.ts';
import { writeChoice } from './social-server.ts';

const SOCIALS = '/api/partner-gateway/v1/socials';
const PUBLIC_URL = 'https://gateway.test';
/** Networks call back over HTTPS in front of the program. */
const CHOICE = { decision: 'grant', linked: 3, lifetimeSeconds: 3600, renewable: true } as const;

/** Connects a profile as a person in a browser, who reaches only the program. */
async function connect(program: TestProgram, platform: Platform) {
  const visit = (path: string) => fetch(`${program.origin()}${path}`, { redirect: 'manual' });
  const { body } = await program.client.request('POST', `${SOCIALS}/${platform}/connect`);
  const url = new URL((body as { authorizeUrl: string }).authorizeUrl);
  expect(url.href.startsWith(`${PUBLIC_URL}/sandbox/social/`)).toBe(true);
  const page = await visit(`${url.pathname}${url.search}`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('sandbox of Heliograph')]);
  const scopes = url.searchParams.get('scope')?.split(/[ ,]/) ?? [];
  writeChoice(url.searchParams, { ...CHOICE, scopes });
  const consented = await visit(`${url.pathname}${url.search}`);
  const back = new URL(consented.headers.get('location') ?? '');
  return visit(`${back.pathname}${back.search}`);
}

test('with the sandbox, profiles of all networks can be connected without an app, shown, renewed and disconnected', async () => {
  await using program = await startTestProgram({
    carriers: {},
    roles: { sandbox: true, worker: false },
    environment: { SANDBOX: 'on', PUBLIC_URL },
  });
  for (const platform of PLATFORMS) expect((await connect(program, platform)).status, platform).toBe(200);
  const { body } = await program.client.request('GET', SOCIALS);
  expect(body).toHaveLength(PLATFORMS.length);
  for (const profile of body as object[]) expect(profile).toMatchObject({ sandbox: true, disconnected: false });
  const picture = await program.client.request('GET', `${SOCIALS}/google/picture`);
  expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
  // After a restart, the sandbox still knows its tokens: revoking succeeds.
  await program.stop();
  await program.start();
  expect((await program.client.request('DELETE', `${SOCIALS}/tiktok`)).status).toBe(204);
  const [last] = await many<{ detail: object }>(
    program.pool,
    sql`SELECT detail FROM audit_entry WHERE action = 'social.disconnect' ORDER BY id DESC LIMIT 1`,
  );
  expect(last?.detail).toEqual({ platform: 'tiktok', revoked: true });

  await program.stop();
  const settings = { ...program.environment, LINKEDIN_CLIENT_ID: 'real' };
  const next = await startProgram(loadConfig(settings), { api: true, worker: false, sandbox: true });
  const left = await many<{ platform: string }>(program.pool, sql`SELECT platform FROM social_profile ORDER BY 1`);
  expect(left.map(({ platform }) => platform)).toEqual(['facebook', 'google', 'instagram']);
  const answer = await fetch(`${next.address}${SOCIALS}/linkedin/connect`, {
    method: 'POST',
    headers: { 'x-api-key': program.account.apiKey },
  });
  expect(await answer.json()).toMatchObject({ message: 'Not configured: LINKEDIN_CLIENT_SECRET on the server' });
  await next.stop();
});

test('without the sandbox there are no such pages, and profiles that were connected to it are gone', async () => {
  await using program = await startTestProgram({
    carriers: {},
    roles: { sandbox: true, worker: false },
    environment: { SANDBOX: 'on', PUBLIC_URL },
  });
  await connect(program, 'google');
  await program.stop();
  const off = loadConfig({ ...program.environment, SANDBOX: 'off' });
  const next = await startProgram(off, { api: true, worker: false, sandbox: true });
  expect((await fetch(`${next.address}/sandbox/social/accounts.google.com/o/oauth2/v2/auth`)).status).toBe(404);
  expect(await many(program.pool, sql`SELECT FROM social_profile`)).toEqual([]);
  await next.stop();
});
