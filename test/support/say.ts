import type { Db } from '../../src/core/db/query.ts';
import { applyConsentWords, hear, type InboundText } from '../../src/messages/stops.ts';

/** Applies what texts from handsets say about further messages, as if they had arrived. */
export async function say(tx: Db, texts: readonly Omit<InboundText, 'destination'>[]): Promise<void> {
  const { heard, settingsOf } = await hear(
    tx,
    texts.map((one) => ({ destination: '4400', ...one })),
  );
  await applyConsentWords(tx, heard, settingsOf);
}
