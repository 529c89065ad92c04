import { type Platform, PLATFORMS } from '../src/platform/lib/platform.ts';
import { type OauthServer, startOauthServer } from '../test/support/oauth-server.ts';
import { findInDatabase, needlesOf } from './canary/search.ts';
import { type Chance, type Findings, judge, type Mode, oneOf, type Proof, type Run } from './proof.ts';
import { type Account, openStage, type Stage } from './stage.ts';

const ATTACKS: Readonly<Record<Mode, number>> = { tiny: 40, quick: 200, full: 2000 };
const EXAMPLES = 10;
const SOCIALS = '/api/partner-gateway/v1/socials';

export const oauth: Proof = {
  promise: 'Nobody connects a social profile but who began it, once; and no token can be read in the database.',
  sabotage: { fault: 'a state may be used again', file: new URL('./sabotage/oauth.ts', import.meta.url) },
  prove,
};

type Scene = {
  readonly run: Chance;
  readonly stage: Stage;
  readonly networks: OauthServer;
  readonly mine: Account;
  readonly other: Account;
};

/** Attacks leave the profiles that there may be, by right; `allowed` is how many. */
type Attack = (scene: Scene) => Promise<{ readonly allowed: number }>;
const NONE = { allowed: 0 };

async function prove(run: Run): Promise<Findings> {
  await using networks = await startOauthServer();
  await using stage = await openStage(run, {
    gateway: 'api',
    environment: networks.environment,
  });
  const newAccount = () => stage.newAccount({ plan: 'unlimited' });
  const scene: Scene = { run, stage, networks, mine: await newAccount(), other: await newAccount() };
  const counts = { attacks: 0, connected: 0, right: 0, wrong: 0 };
  const attacks = Object.entries(KINDS);
  for (; counts.attacks < ATTACKS[run.mode]; counts.attacks++) {
    const [name, attack] = attacks[counts.attacks % attacks.length] ?? oneOf(run, attacks);
    const { allowed } = await attack(scene);
    const connected = (await takeProfiles(stage)) - allowed;
    if (connected > 0 && ++counts.connected <= EXAMPLES) run.say(`connected by ${name}`);
    if (counts.attacks % attacks.length === 0) counts[(await isRightTaken(scene)) ? 'right' : 'wrong']++;
  }
  const readable = await countReadable(scene);
  return judge(
    { ...counts, kinds: attacks.length, tokens: networks.secrets.size, readable },
    {
      'no attack connects a profile': counts.connected === 0,
      'who does it right is connected': counts.right > 0 && counts.wrong === 0,
      'no code and no token can be read in the database': readable === 0,
    },
  );
}

/** How many profiles there were; then there are none. */
async function takeProfiles({ pool }: Stage): Promise<number> {
  return (await pool.query('DELETE FROM social_profile')).rowCount ?? 0;
}

type Begun = { readonly authorizeUrl: string; readonly cookie: string };

/** As a person in a browser, or by key. */
async function begin(account: Account, platform: Platform, by: 'person' | 'key' = 'key'): Promise<Begun> {
  const login = `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`;
  const headers: Record<string, string> = by === 'person' ? { 'x-api-key': '', authorization: login } : {};
  const answer = await account.client.request('POST', `${SOCIALS}/${platform}/connect`, { headers });
  const { authorizeUrl } = answer.body as { authorizeUrl: string };
  return { authorizeUrl, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** Comes back from the network, with this cookie. */
async function comeBack({ stage }: Scene, back: URL | undefined, cookie = ''): Promise<boolean> {
  if (!back) return false;
  const headers = { 'x-api-key': '', ...(cookie === '' ? {} : { cookie }) };
  return (await stage.client.request('GET', `${back.pathname}${back.search}`, { headers })).status === 200;
}

const visited = async ({ networks }: Scene, { authorizeUrl }: Begun): Promise<URL> => {
  const back = await networks.visit(authorizeUrl);
  if (!back) throw new Error('the network sent nobody back');
  return back;
};

/** A flow that nobody disturbs, by a person or a key. */
async function isRightTaken(scene: Scene): Promise<boolean> {
  const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS), oneOf(scene.run, ['person', 'key']));
  const taken = await comeBack(scene, await visited(scene, begun), begun.cookie);
  return (await takeProfiles(scene.stage)) === 1 && taken;
}

/** The URL that was given out, with something else in it. */
function bent({ authorizeUrl, ...begun }: Begun, change: (query: URLSearchParams) => void): Begun {
  const url = new URL(authorizeUrl);
  change(url.searchParams);
  return { ...begun, authorizeUrl: url.href };
}

const KINDS: Readonly<Record<string, Attack>> = {
  async 'a state that was used, with a new code'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS));
    await comeBack(scene, await visited(scene, begun));
    await takeProfiles(scene.stage);
    await comeBack(scene, await visited(scene, begun));
    return NONE;
  },
  async 'a state that was refused before'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS), 'person');
    await comeBack(scene, await visited(scene, begun));
    await comeBack(scene, await visited(scene, begun), begun.cookie);
    return NONE;
  },
  async 'one state five times at once'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS));
    const backs = await Promise.all([1, 2, 3, 4, 5].map(() => visited(scene, begun)));
    const taken = await Promise.all(backs.map((back) => comeBack(scene, back)));
    // One row holds them all: more than one success counts as well.
    return { allowed: taken.filter(Boolean).length === 1 ? 1 : 0 };
  },
  async 'a state at another network'(scene) {
    const [platform, another] = [oneOf(scene.run, PLATFORMS), oneOf(scene.run, PLATFORMS)];
    const back = await visited(scene, await begin(scene.mine, platform));
    back.pathname = `/oauth/${another === platform ? PLATFORMS[(PLATFORMS.indexOf(platform) + 1) % 5] : another}/callback`;
    await comeBack(scene, back);
    return NONE;
  },
  async 'a code of another network'(scene) {
    const foreign = await visited(scene, await begin(scene.mine, 'linkedin'));
    const back = await visited(scene, await begin(scene.mine, oneOf(scene.run, ['facebook', 'google', 'tiktok'])));
    back.searchParams.set('code', foreign.searchParams.get('code') ?? '');
    await comeBack(scene, back);
    return NONE;
  },
  async 'an answer of another issuer'(scene) {
    const back = await visited(scene, await begin(scene.mine, oneOf(scene.run, PLATFORMS)));
    back.searchParams.set('iss', 'https://accounts.attacker.test');
    await comeBack(scene, back);
    return NONE;
  },
  async 'another browser'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS), 'person');
    await comeBack(scene, await visited(scene, begun));
    return NONE;
  },
  async 'the cookie of another connection'(scene) {
    const platform = oneOf(scene.run, PLATFORMS);
    const [begun, next] = [await begin(scene.mine, platform, 'person'), await begin(scene.mine, platform, 'person')];
    await comeBack(scene, await visited(scene, begun), next.cookie);
    return NONE;
  },
  async 'the cookie of another account'(scene) {
    const platform = oneOf(scene.run, PLATFORMS);
    const [begun, foreign] = [
      await begin(scene.mine, platform, 'person'),
      await begin(scene.other, platform, 'person'),
    ];
    await comeBack(scene, await visited(scene, foreign), begun.cookie);
    await comeBack(scene, await visited(scene, begun), foreign.cookie);
    return NONE;
  },
  async 'an account that was suspended'(scene) {
    const begun = await begin(scene.other, oneOf(scene.run, PLATFORMS));
    const setStatus = (status: string) =>
      scene.stage.pool.query('UPDATE account SET status = $1 WHERE id = $2', [status, scene.other.accountId]);
    await setStatus('suspended');
    await comeBack(scene, await visited(scene, begun));
    await setStatus('active');
    return NONE;
  },
  async 'a challenge taken out'(scene) {
    const begun = bent(await begin(scene.mine, 'google'), (query) => {
      query.delete('code_challenge');
      query.delete('code_challenge_method');
    });
    await comeBack(scene, await visited(scene, begun));
    return NONE;
  },
  async 'a challenge made plain'(scene) {
    const plain = await begin(scene.mine, 'google');
    await comeBack(
      scene,
      await visited(
        scene,
        bent(plain, (query) => query.set('code_challenge_method', 'plain')),
      ),
    );
    return NONE;
  },
  async 'a code that was asked for by somebody else'(scene) {
    const stolen = await visited(scene, await begin(scene.other, 'google'));
    const back = await visited(scene, await begin(scene.mine, 'google'));
    back.searchParams.set('code', stolen.searchParams.get('code') ?? '');
    await comeBack(scene, back);
    return NONE;
  },
  async 'a state of more than ten minutes'(scene) {
    const back = await visited(scene, await begin(scene.mine, oneOf(scene.run, PLATFORMS)));
    await scene.stage.pool.query(`UPDATE social_state SET expires_at = expires_at - interval '601 seconds'`);
    await comeBack(scene, back);
    return NONE;
  },
  async 'no state, two states, a made up one'(scene) {
    const begun = await begin(scene.mine, oneOf(scene.run, PLATFORMS));
    const changes: ((query: URLSearchParams) => void)[] = [
      (query) => query.delete('state'),
      (query) => query.append('state', query.get('state') ?? ''),
      (query) => query.set('state', Buffer.alloc(32, 7).toString('base64url')),
      (query) => query.set('state', ''),
    ];
    for (const change of changes) {
      const back = await visited(scene, begun);
      change(back.searchParams);
      await comeBack(scene, back);
    }
    return NONE;
  },
  async 'a return address of somebody else'(scene) {
    const begun = bent(await begin(scene.mine, oneOf(scene.run, PLATFORMS)), (query) =>
      query.set('redirect_uri', 'https://attacker.test/callback'),
    );
    await comeBack(scene, await scene.networks.visit(begun.authorizeUrl));
    return NONE;
  },
  async 'a code and a refusal at once'(scene) {
    const back = await visited(scene, await begin(scene.mine, oneOf(scene.run, PLATFORMS)));
    back.searchParams.set('error', 'access_denied');
    await comeBack(scene, back);
    return NONE;
  },
};

/** Of everything that the networks gave out, with all profiles connected, connections under way among them. */
async function countReadable(scene: Scene): Promise<number> {
  for (const platform of PLATFORMS)
    for (const account of [scene.mine, scene.other]) {
      await comeBack(scene, await visited(scene, await begin(account, platform)));
      await begin(account, platform);
    }
  const { rowCount } = await scene.stage.pool.query('SELECT FROM social_profile');
  if (rowCount !== 2 * PLATFORMS.length) throw new Error(`${rowCount} profiles were connected`);
  const secrets = new Map([...scene.networks.secrets].map((secret) => [secret, secret]));
  return (await findInDatabase(needlesOf(secrets), scene.stage.pool)).length;
}
