import type { Pool } from 'pg';
import { operatorName } from '../../identity/audit/record.ts';
import { setPrice } from '../../money/pricing/change.ts';
import { listPrices } from '../../money/pricing/sql.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { fromMicros } from '../../platform/lib/money.ts';
import { type Answers, amount } from './answers.ts';
import type { Done } from './step.ts';

/**
 * Sets the price of SMS to all numbers. A new database has one already, so it is asked for on the first run (`isFirst`);
 * afterwards only the option changes it.
 */
export async function setUpPrice(pool: Pool, answers: Answers, isFirst: boolean): Promise<Done> {
  const step = 'price';
  const before = (await listPrices(pool)).find(({ channel, prefix }) => channel === 'SMS' && prefix === '');
  const now = before ? String(fromMicros(before.unitMicros)) : '';
  const text = 'Price of a part of an SMS, in currency units (0 is possible)';
  const answer = await answers.text({
    flag: 'price',
    text,
    known: isFirst ? '' : now,
    fallback: now || '0',
    rule: amount,
  });
  const price = Number(answer);
  const detail = `${price} for each part of an SMS`;
  if (before && price === fromMicros(before.unitMicros)) return { step, changed: false, detail };
  const { refundUndelivered } = before ?? { refundUndelivered: false };
  const input = { channel: 'SMS', prefix: '', price, refundUndelivered } as const;
  await transaction(pool, (tx) => setPrice(tx, { ...input, by: operatorName() }));
  return { step, changed: true, detail };
}
