import { type Platform, PLATFORMS } from '../src/platform/lib/social-platform.ts';
import { type OauthServer, startOauthServer } from '../test/support/oauth/server.ts';
import { findInDatabase, needlesOf } from './canary/search.ts';
import { type RandomSource, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './lib/proof.ts';
import { type Account, openStage, type Stage } from './lib/stage.ts';

const ATTACK_COUNTS: Readonly<Record<Mode, number>> = { tiny: 40, quick: 200, full: 2000 };
const MAX_EXAMPLES = 10;
const SOCIALS = '/api/partner-gateway/v1/socials';

export const oauth: Proof = {
  promise: 'Only the person who began it can connect a social profile, once; no token is readable in the database.',
  sabotage: {
    fault: 'a state can be used twice',
    file: new URL('./sabotage/oauth.ts', import.meta.url),
    breaks: ['no attack connects a profile'],
    mode: 'tiny',
  },
  prove,
};

type Scene = {
  readonly run: RandomSource;
  readonly stage: Stage;
  readonly networks: OauthServer;
  readonly mine: Account;
  readonly other: Account;
};

/** One attack. `allowed` is the number of profiles that it may legitimately leave connected. */
type Attack = (scene: Scene) => Promise<{ readonly allowed: number }>;
const NOTHING_ALLOWED = { allowed: 0 };

async function prove(run: Run): Promise<Findings> {
  await using networks = await startOauthServer();
  await using stage = await openStage(run, {
    gateway: 'api',
    environment: networks.environment,
  });
  const newAccount = () => stage.newAccount({ plan: 'unlimited' });
  const scene: Scene = { run, stage, networks, mine: await newAccount(), other: await newAccount() };
  const counts = { attacks: 0, connected: 0, right: 0, wrong: 0 };
  const attacks = Object.entries(ATTACK_KINDS);
  for (; counts.attacks < ATTACK_COUNTS[run.mode]; counts.attacks++) {
    const [name, attack] = attacks[counts.attacks % attacks.length] ?? oneOf(run, attacks);
    const { allowed } = await attack(scene);
    const connected = (await deleteProfiles(stage)) - allowed;
    if (connected > 0 && ++counts.connected <= MAX_EXAMPLES) run.log(`connected by ${name}`);
    if (counts.attacks % attacks.length === 0) counts[(await connectsHonestly(scene)) ? 'right' : 'wrong']++;
  }
  const readable = await countReadable(scene);
  return judge(
    { ...counts, kinds: attacks.length, tokens: networks.secrets.size, readable },
    {
      'no attack connects a profile': counts.connected === 0,
      'every honest connection succeeds': counts.right > 0 && counts.wrong === 0,
      'no code or token is readable in the database': readable === 0,
    },
  );
}

/** Deletes all profiles; returns how many there were. */
async function deleteProfiles({ pool }: Stage): Promise<number> {
  return (await pool.query('DELETE FROM social_profile')).rowCount ?? 0;
}

type BegunFlow = { readonly authorizeUrl: string; readonly cookie: string };

/** Begins a connection as a person in a browser, or by API key. */
async function begin(account: Account, platform: Platform, by: 'person' | 'key' = 'key'): Promise<BegunFlow> {
  const login = `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`;
  const headers: Record<string, string> = by === 'person' ? { 'x-api-key': '', authorization: login } : {};
  const answer = await account.client.request('POST', `${SOCIALS}/${platform}/connect`, { headers });
  const { authorizeUrl } = answer.body as { authorizeUrl: string };
  return { authorizeUrl, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** Follows the redirect back from the network, with this cookie; returns whether the profile was connected. */
async function returnFrom({ stage }: Scene, back: URL | undefined, cookie = ''): Promise<boolean> {
  if (!back) return false;
  const headers = { 'x-api-key': '', ...(cookie === '' ? {} : { cookie }) };
  return (await stage.client.request('GET', `${back.pathname}${back.search}`, { headers })).status === 200;
}

const visitNetwork = async ({ networks }: Scene, { authorizeUrl }: BegunFlow): Promise<URL> => {
  const back = await networks.visit(authorizeUrl);
  if (!back) throw new Error('the network did not redirect back');
  return back;
};

/** Runs an undisturbed flow, by a person or a key; returns whether it connected exactly one profile. */
async function connectsHonestly(scene: Scene): Promise<boolean> {
  const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS), oneOf(scene.run, ['person', 'key']));
  const taken = await returnFrom(scene, await visitNetwork(scene, begun), begun.cookie);
  return (await deleteProfiles(scene.stage)) === 1 && taken;
}

/** Changes the query of the authorization URL. */
function withQuery({ authorizeUrl, ...begun }: BegunFlow, change: (query: URLSearchParams) => void): BegunFlow {
  const url = new URL(authorizeUrl);
  change(url.searchParams);
  return { ...begun, authorizeUrl: url.href };
}

const ATTACK_KINDS: Readonly<Record<string, Attack>> = {
  async 'a used state, with a new code'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS));
    await returnFrom(scene, await visitNetwork(scene, begun));
    await deleteProfiles(scene.stage);
    await returnFrom(scene, await visitNetwork(scene, begun));
    return NOTHING_ALLOWED;
  },
  async 'a state that was already refused'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS), 'person');
    await returnFrom(scene, await visitNetwork(scene, begun));
    await returnFrom(scene, await visitNetwork(scene, begun), begun.cookie);
    return NOTHING_ALLOWED;
  },
  async 'one state five times at once'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS));
    const backs = await Promise.all([1, 2, 3, 4, 5].map(() => visitNetwork(scene, begun)));
    const taken = await Promise.all(backs.map((back) => returnFrom(scene, back)));
    // All flows share one row: more than one success also counts as an attack.
    return { allowed: taken.filter(Boolean).length === 1 ? 1 : 0 };
  },
  async 'a state at another network'(scene) {
    const [platform, another] = [oneOf(scene.run, PLATFORMS), oneOf(scene.run, PLATFORMS)];
    const back = await visitNetwork(scene, await begin(scene.mine, platform));
    back.pathname = `/oauth/${another === platform ? PLATFORMS[(PLATFORMS.indexOf(platform) + 1) % 5] : another}/callback`;
    await returnFrom(scene, back);
    return NOTHING_ALLOWED;
  },
  async 'a code of another network'(scene) {
    const foreign = await visitNetwork(scene, await begin(scene.mine, 'linkedin'));
    const back = await visitNetwork(scene, await begin(scene.mine, oneOf(scene.run, ['facebook', 'google', 'tiktok'])));
    back.searchParams.set('code', foreign.searchParams.get('code') ?? '');
    await returnFrom(scene, back);
    return NOTHING_ALLOWED;
  },
  async 'a response from another issuer'(scene) {
    const back = await visitNetwork(scene, await begin(scene.mine, oneOf(scene.run, PLATFORMS)));
    back.searchParams.set('iss', 'https://accounts.attacker.test');
    await returnFrom(scene, back);
    return NOTHING_ALLOWED;
  },
  async 'another browser'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS), 'person');
    await returnFrom(scene, await visitNetwork(scene, begun));
    return NOTHING_ALLOWED;
  },
  async 'the cookie of another connection'(scene) {
    const platform = oneOf(scene.run, PLATFORMS);
    const [begun, next] = [await begin(scene.mine, platform, 'person'), await begin(scene.mine, platform, 'person')];
    await returnFrom(scene, await visitNetwork(scene, begun), next.cookie);
    return NOTHING_ALLOWED;
  },
  async 'the cookie of another account'(scene) {
    const platform = oneOf(scene.run, PLATFORMS);
    const [begun, foreign] = [
      await begin(scene.mine, platform, 'person'),
      await begin(scene.other, platform, 'person'),
    ];
    await returnFrom(scene, await visitNetwork(scene, foreign), begun.cookie);
    await returnFrom(scene, await visitNetwork(scene, begun), foreign.cookie);
    return NOTHING_ALLOWED;
  },
  async 'a suspended account'(scene) {
    const begun = await begin(scene.other, oneOf(scene.run, PLATFORMS));
    const setStatus = (status: string) =>
      scene.stage.pool.query('UPDATE account SET status = $1 WHERE id = $2', [status, scene.other.accountId]);
    await setStatus('suspended');
    await returnFrom(scene, await visitNetwork(scene, begun));
    await setStatus('active');
    return NOTHING_ALLOWED;
  },
  async 'a removed code challenge'(scene) {
    const begun = withQuery(await begin(scene.mine, 'google'), (query) => {
      query.delete('code_challenge');
      query.delete('code_challenge_method');
    });
    await returnFrom(scene, await visitNetwork(scene, begun));
    return NOTHING_ALLOWED;
  },
  async 'a plain code challenge'(scene) {
    const plain = await begin(scene.mine, 'google');
    await returnFrom(
      scene,
      await visitNetwork(
        scene,
        withQuery(plain, (query) => query.set('code_challenge_method', 'plain')),
      ),
    );
    return NOTHING_ALLOWED;
  },
  async 'a code requested by somebody else'(scene) {
    const stolen = await visitNetwork(scene, await begin(scene.other, 'google'));
    const back = await visitNetwork(scene, await begin(scene.mine, 'google'));
    back.searchParams.set('code', stolen.searchParams.get('code') ?? '');
    await returnFrom(scene, back);
    return NOTHING_ALLOWED;
  },
  async 'a state older than ten minutes'(scene) {
    const back = await visitNetwork(scene, await begin(scene.mine, oneOf(scene.run, PLATFORMS)));
    await scene.stage.pool.query(`UPDATE social_state SET expires_at = expires_at - interval '601 seconds'`);
    await returnFrom(scene, back);
    return NOTHING_ALLOWED;
  },
  async 'a missing, doubled, invented or empty state'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS));
    const changes: ((query: URLSearchParams) => void)[] = [
      (query) => query.delete('state'),
      (query) => query.append('state', query.get('state') ?? ''),
      (query) => query.set('state', Buffer.alloc(32, 7).toString('base64url')),
      (query) => query.set('state', ''),
    ];
    for (const change of changes) {
      const back = await visitNetwork(scene, begun);
      change(back.searchParams);
      await returnFrom(scene, back);
    }
    return NOTHING_ALLOWED;
  },
  async "somebody else's redirect URI"(scene) {
    const begun = withQuery(await begin(scene.mine, oneOf(scene.run, PLATFORMS)), (query) =>
      query.set('redirect_uri', 'https://attacker.test/callback'),
    );
    await returnFrom(scene, await scene.networks.visit(begun.authorizeUrl));
    return NOTHING_ALLOWED;
  },
  async 'a code together with an error'(scene) {
    const back = await visitNetwork(scene, await begin(scene.mine, oneOf(scene.run, PLATFORMS)));
    back.searchParams.set('error', 'access_denied');
    await returnFrom(scene, back);
    return NOTHING_ALLOWED;
  },
};

/**
 * Counts the secrets of the networks that are readable in the database, with all profiles connected and more
 * connections under way.
 */
async function countReadable(scene: Scene): Promise<number> {
  for (const platform of PLATFORMS)
    for (const account of [scene.mine, scene.other]) {
      await returnFrom(scene, await visitNetwork(scene, await begin(account, platform)));
      await begin(account, platform);
    }
  const { rowCount } = await scene.stage.pool.query('SELECT FROM social_profile');
  if (rowCount !== 2 * PLATFORMS.length)
    throw new Error(`${rowCount} profiles were connected, not ${2 * PLATFORMS.length}`);
  const secrets = new Map([...scene.networks.secrets].map((secret) => [secret, secret]));
  return (await findInDatabase(needlesOf(secrets), scene.stage.pool)).length;
}
