import type { Mutant } from './mutant.ts';

/** Mutants of one line that no test can notice, because they change nothing that anyone could. */
type Equivalent = {
  readonly file: string;
  /** The line of the program that they change. */
  readonly code: string;
  /** Their changes as the report writes them. */
  readonly changes: readonly string[];
  readonly reason: string;
};

const ANY_ORDER =
  'the statement takes the list as a set (`id = ANY`), and locks rows in the order in which it finds them';
const NOTHING_TO_WRITE =
  'without rows the statement, or the function that makes it, does nothing: the condition only saves that work';

const EQUIVALENT: readonly Equivalent[] = [
  {
    file: 'src/messaging/consent/record.ts',
    code: 'const accountIds = [...new Set(rows.map((row) => row.accountId))].sort((a, b) => a - b);',
    changes: ['without .sort((a, b) => a - b)', '- → +'],
    reason: ANY_ORDER,
  },
  {
    file: 'src/money/credit/charge.ts',
    code: 'if (key !== null) paid.add(key);',
    changes: ['key !== null → true'],
    reason: 'null in the set of paid keys is never asked for: the question before it is whether the key is null',
  },
  {
    file: 'src/money/credit/show.ts',
    code: 'const total = books.reduce((sum, { micros }) => sum + micros, 0);',
    changes: ['+ → -'],
    reason: 'subtracting from zero gives the negative total, which is zero in the same cases, and only that is asked',
  },
  {
    file: 'src/messaging/messages/end.ts',
    code: 'const bills = held.length > 0 ? await billsOf(tx, held) : { earned: [], returned: [] };',
    changes: ['held.length > 0 → true', '> → >='],
    reason: NOTHING_TO_WRITE,
  },
  {
    file: 'src/messaging/messages/end.ts',
    code: '...(doubtful.length > 0',
    changes: ['doubtful.length > 0 → true', '> → >='],
    reason: NOTHING_TO_WRITE,
  },
  {
    file: 'src/messaging/messages/end.ts',
    code: 'const read = reads.length > 0 ? await db.updateReadTimes(tx, { reads, firstId, lastId }) : [];',
    changes: ['reads.length > 0 → true', '> → >='],
    reason: NOTHING_TO_WRITE,
  },
  {
    file: 'src/messaging/messages/receive-receipt.ts',
    code: 'if (stayed.size > 0) for (const m of whole) if (stayed.has(m.messageId)) idle.add(m);',
    changes: ['stayed.size > 0 → true', '> → >='],
    reason: 'an empty set has no message: the condition only saves the loop',
  },
  {
    file: 'src/messaging/messages/receive-receipt.ts',
    code: 'if (idle.size > 0) await insertEvents(tx, matched.filter((m) => idle.has(m)).map(toEvent));',
    changes: ['idle.size > 0 → true', '> → >='],
    reason: NOTHING_TO_WRITE,
  },
  {
    file: 'src/messaging/messages/receive-receipt.ts',
    code: 'return reads.size === 0 ? [] : [...reads.values()].sort(byId);',
    changes: ['reads.size === 0 → false'],
    reason: 'no values make an empty list, too',
  },
  {
    file: 'src/messaging/messages/settle-outcomes.ts',
    code: '...(parts.length > 0 ? [insertParts(tx, parts)] : []),',
    changes: ['parts.length > 0 → true', '> → >='],
    reason: NOTHING_TO_WRITE,
  },
  {
    file: 'src/messaging/messages/settle-outcomes.ts',
    code: '...(unknown.length > 0 ? [insertUnknowns(tx, unknown.map(toUnknown))] : []),',
    changes: ['unknown.length > 0 → true', '> → >='],
    reason: NOTHING_TO_WRITE,
  },
  {
    file: 'src/messaging/messages/settle-outcomes.ts',
    code: '...(nameless.length > 0 ? [insertNameless(tx, nameless)] : []),',
    changes: ['nameless.length > 0 → true', '> → >='],
    reason: NOTHING_TO_WRITE,
  },
  {
    file: 'src/messaging/messages/settle-outcomes.ts',
    code: 'if (known.length > 0) await deleteUnknowns(tx, known);',
    changes: ['known.length > 0 → true', '> → >='],
    reason: NOTHING_TO_WRITE,
  },
  {
    file: 'src/messaging/messages/settle-outcomes.ts',
    code: 'return keys.length === 0 ? FIRST.traits : new Map((await db.listTraits(tx, keys)).map((row) => [row.id, row]));',
    changes: ['keys.length === 0 → false'],
    reason: NOTHING_TO_WRITE,
  },
  {
    file: 'src/messaging/restore-guard/guard.ts',
    code: "if (verdict.kind === 'ask') await db.moveToPaused(pool, verdict);",
    changes: ["verdict.kind === 'ask' → true"],
    reason: 'the other verdict left here is `wait`: the state is `paused` already, and only another state moves there',
  },
  {
    file: 'src/messaging/restore-guard/guard.ts',
    code: "if (state !== 'open') await db.moveToOpen(pool);",
    changes: ["state !== 'open' → true"],
    reason: 'the statement moves only states other than `open`',
  },
  {
    file: 'src/messaging/restore-guard/guard.ts',
    code: "if (asked) log.warn({}, 'sending resumes: a person has decided');",
    changes: ['asked → true', 'asked → false'],
    reason: 'a line of the log',
  },
  {
    file: 'src/messaging/restore-guard/mark.ts',
    code: 'if (text === undefined) return null;',
    changes: ['text === undefined → false'],
    reason: 'no text is not valid JSON either, for which the answer is null as well',
  },
  {
    file: 'src/operations/retention/delete-old-data.ts',
    code: 'const ended = await listEndedDays(pool, checkedTo < before ? checkedTo : before);',
    changes: ['< → <='],
    reason: 'of two equal times it does not matter which is taken',
  },
];

const fits = (entry: Equivalent, { file, code, change }: Mutant): boolean =>
  entry.file === file && entry.code === code && entry.changes.includes(change);

/** Whether a mutant is among those that no test can notice. */
export const isEquivalent = (mutant: Mutant): boolean => EQUIVALENT.some((entry) => fits(entry, mutant));

/** Throws when an entry for these files fits none of their mutants: the program has changed since it was written. */
export function refuseStaleEntries(files: readonly string[], mutants: readonly Mutant[]): void {
  for (const { file, code, changes } of EQUIVALENT.filter((entry) => files.includes(entry.file)))
    for (const change of changes)
      if (!mutants.some((mutant) => mutant.file === file && mutant.code === code && mutant.change === change))
        throw new Error(`${file} has no such mutant any more: ${change}   [${code}]`);
}
