import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createConnection } from '../../src/network/connections/save.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { loadSecretKey } from '../../src/platform/secret-key.ts';
import { startOauthServer } from '../../test/support/oauth/server.ts';
import { until } from '../../test/support/until.ts';
import { runRound, type KeptAnswer, type Secrets } from './flows.ts';
import { findIn, findInDatabase, findInFiles, type Leak, needlesOf } from './search.ts';
import { type Findings, judge, type Mode, type Proof, type Run } from '../lib/proof.ts';
import { openStage, type Stage } from '../lib/stage.ts';

const ROUNDS: Readonly<Record<Mode, number>> = { tiny: 1, quick: 5, full: 100 };
const MAX_EXAMPLES = 20;

export const canary: Proof = {
  promise: 'No secret is found in logs, errors, metrics, the database or its files.',
  sabotage: {
    fault: 'request headers are logged',
    file: new URL('../sabotage/canary.ts', import.meta.url),
    breaks: ['no secret is found anywhere'],
    mode: 'tiny',
  },
  prove,
};

async function prove(run: Run): Promise<Findings> {
  const secrets: Secrets = new Map();
  const secretKey = randomBytes(32).toString('hex');
  secrets.set('SECRET_KEY', secretKey);
  const answers: KeptAnswer[] = [];
  await using networks = await startOauthServer();
  await using stage = await openStage(run, {
    gateway: 'serve',
    environment: {
      SECRET_KEY: secretKey,
      LOG_LEVEL: 'trace',
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
      ...networks.environment,
    },
  });
  await refuseBind(stage, secrets);
  for (let round = 0; round < ROUNDS[run.mode]; round++)
    await runRound({ stage, networks }, await stage.newAccount({ plan: 'unlimited' }), secrets, answers);
  for (const secret of networks.secrets) secrets.set(`a code or token of a network ${secrets.size}`, secret);
  await stage.pool.query('CHECKPOINT');

  const needles = needlesOf(secrets);
  const { body: metrics } = await stage.client.request('GET', '/metrics');
  const log = await readFile(join(run.folder, 'stderr.log'));
  const leaks: Leak[] = [
    ...findIn(needles, 'the log', log),
    ...findIn(needles, 'the metrics', String(metrics)),
    ...answers.flatMap(({ what, text }) => findIn(needles, `the answer to ${what}`, text)),
    ...(await findInDatabase(needles, stage.pool)),
    ...(run.databaseUrl === null ? await findInFiles(needles, join(run.folder, 'data')) : []),
  ];
  for (const { secret, where } of leaks.slice(0, MAX_EXAMPLES)) run.log(`${secret} is in ${where}`);
  const figures = {
    secrets: secrets.size,
    needles: needles.length,
    answers: answers.length,
    logLines: log.toString().split('\n').length - 1,
    leaks: leaks.length,
  };
  return judge(figures, {
    'no secret is found anywhere': leaks.length === 0,
    'there was something to search': figures.logLines > figures.answers / 2 && metrics !== '',
    'the search finds a secret that is there':
      findIn(needles, 'here', `"${[...secrets.values()].at(-1)}"`).length === 1,
  });
}

/** Opens a connection whose password the carrier refuses: the fault is reported without the password. */
async function refuseBind({ pool, environment, carrier }: Stage, secrets: Secrets): Promise<void> {
  const password = randomBytes(4).toString('hex');
  secrets.set('the password of a carrier', password);
  const key = await loadSecretKey(loadConfig(environment));
  const settings = { host: '127.0.0.1', port: carrier.port, systemId: 'stranger' };
  const { id } = await createConnection(pool, key, {
    name: 'refused',
    kind: 'smpp',
    settings,
    secret: { password },
    sandbox: false,
  });
  await until('a refused bind', async () => {
    const { rows } = await pool.query(
      'SELECT 1 FROM connection_status WHERE connection_id = $1 AND fault IS NOT NULL',
      [id],
    );
    return rows.length > 0;
  });
}
