import type { SandboxSmsc } from '../../src/sandbox/smsc.ts';
import type { SubmitEntry } from '../../src/sandbox/smsc-ledger.ts';

/** A message as a handset shows it. Numbers are written as on the wire: digits without a plus. */
export type TakenMessage = {
  readonly source: string;
  readonly destination: string;
  readonly text: string;
  readonly parts: number;
};

/**
 * Returns the messages that a carrier has taken, from its ledger, with long messages joined, in the order of their
 * first parts.
 */
export function listTaken({ ledger }: SandboxSmsc): TakenMessage[] {
  const taken = ledger.submits().filter(({ status }) => status === 'ESME_ROK');
  return [...Map.groupBy(taken, groupOf).values()].flatMap(join);
}

const groupOf = ({ n, source, destination, concat }: SubmitEntry): string =>
  concat ? `${source}/${destination}/${concat.ref}` : `whole/${n}`;

function join(entries: readonly SubmitEntry[]): TakenMessage[] {
  const parts = entries.toSorted((a, b) => (a.concat?.seq ?? 0) - (b.concat?.seq ?? 0));
  const [first] = parts;
  if (!first) return [];
  const { source, destination, concat } = first;
  if (concat && concat.total !== parts.length)
    throw new Error(`${parts.length} of ${concat.total} parts to ${destination}`);
  return [{ source, destination, text: parts.map((part) => part.text).join(''), parts: parts.length }];
}
