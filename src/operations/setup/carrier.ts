import type { Pool } from 'pg';
import { operatorName } from '../../identity/audit/record.ts';
import { addConnection } from '../../network/connections/add.ts';
import { listConnections } from '../../network/connections/sql.ts';
import { addRoute } from '../../network/routing/change.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { integer } from '../../platform/lib/setting-rules.ts';
import { type Answers, isYes, yesOrNo } from './answers.ts';
import type { Done } from './step.ts';

const PRIORITY = 100;
const OTHER_KINDS = '`connection add smpp`, `http`, `whatsapp` or `rcs` adds one, each with --help';

/**
 * Adds an SMS carrier by SMPP and the route of all numbers to it, in one transaction, unless there is a real carrier. Other
 * kinds are added with `connection add`.
 */
export async function setUpCarrier(pool: Pool, key: SecretKey, answers: Answers): Promise<Done> {
  const step = 'carrier';
  const known = (await listConnections(pool)).filter(({ sandbox }) => !sandbox);
  if (known.length > 0) return { step, changed: false, detail: `kept: ${known.map(({ name }) => name).join(', ')}` };
  const host = await answers.text({
    flag: 'carrierHost',
    text: 'Host of your SMS carrier by SMPP (empty: later, or another kind)',
  });
  if (host === '') return { step, changed: false, detail: `none yet: ${OTHER_KINDS}` };
  const name = await answers.text({ flag: 'carrierName', text: 'A name for it', fallback: 'carrier' });
  const port = await answers.text({
    flag: 'carrierPort',
    text: 'Its port',
    fallback: '2775',
    rule: integer(1, 65_535),
  });
  const systemId = await answers.text({ flag: 'carrierSystemId', text: 'Your system_id there' });
  const question = { flag: 'carrierTls', text: 'Does it use TLS? yes or no', fallback: 'no', rule: yesOrNo };
  const tls = isYes(await answers.text(question));
  const password = await answers.secret('--carrier-password');
  const settings = { host, port: Number(port), systemId, tls };
  const by = operatorName();
  await transaction(pool, async (tx) => {
    await addConnection(tx, key, { name, kind: 'smpp', settings, secret: { password }, by });
    const route = { channel: 'SMS', prefix: '', connection: name, priority: PRIORITY, onUnknown: 'hold' } as const;
    await addRoute(tx, { ...route, by });
  });
  return { step, changed: true, detail: `${name} at ${host}:${port}, with the route of all numbers` };
}
