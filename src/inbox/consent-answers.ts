import { bigint, insertRows, text } from '../core/db/columns.ts';
import { type Db, exec, many, sql } from '../core/db/query.ts';
import { every, type Task } from '../core/background.ts';
import { job } from '../core/jobs.ts';
import { personOf } from '../core/phone.ts';
import { HOUR_MS, MINUTE_MS } from '../core/time.ts';
import { senderKey } from '../messages/consent.ts';
import type { ReceivedMessage } from '../messages/inbound.ts';
import { type AutoAnswer, type AutoAnswerDeps, answerConversation, mayBeAnswered } from './rules.ts';

/**
 * Time within which a word about messages is answered: later, a confirmation is no longer presumed to be covered by the
 * consent before it (47 CFR 64.1200(a)(12)).
 */
const ANSWER_MS = 5 * MINUTE_MS;

type Placed = ReceivedMessage & { readonly chatId: string; readonly peer: string };

/**
 * Queues the answers to STOP, START and HELP that accounts have set, in the transaction that stores the messages: one
 * for each person, sender and kind of word in 24 hours, however often the word comes. A service that cannot read it
 * gets none.
 */
export async function queueConsentAnswers(tx: Db, messages: readonly Placed[]): Promise<void> {
  const wanted = new Map(
    messages.flatMap((message) => {
      const { accountId, channel, peer, destination, said, answer, chatId } = message;
      if (said === null || answer === null || !mayBeAnswered({ ...message, said: null }, answer)) return [];
      const row = { accountId, person: personOf(peer), channel, sender: senderKey(destination), says: said.says };
      return [[keyOf(row), { ...row, chatId, text: answer }] as const];
    }),
  );
  if (wanted.size === 0) return;
  const due = await insertAnswers(tx, [...wanted.values()]);
  await consentAnswer.add(
    tx,
    ...due.flatMap((row) => {
      const answer = wanted.get(keyOf(row));
      return answer
        ? [{ accountId: row.accountId, key: null, payload: { chatId: answer.chatId, text: answer.text } }]
        : [];
    }),
  );
}

type Answered = {
  readonly accountId: number;
  readonly person: string;
  readonly channel: string;
  readonly sender: string;
  readonly says: string;
};
const keyOf = ({ accountId, person, channel, sender, says }: Answered): string =>
  JSON.stringify([accountId, person, channel, sender, says]);

/** Records answers, and returns those that were not given within 24 hours. */
const insertAnswers = (tx: Db, rows: readonly Answered[]): Promise<Answered[]> =>
  many(
    tx,
    sql`${insertRows('consent_answer AS a', rows, { accountId: bigint, person: text, channel: text, sender: text, says: text })}
        ORDER BY u.account_id, u.person, u.channel, u.sender, u.says
        ON CONFLICT (account_id, person, channel, sender, says) DO UPDATE SET at = now()
          WHERE a.at < now() - interval '24 hours'
        RETURNING account_id AS "accountId", person, channel, sender, says`,
  );

/**
 * Answers to words about messages, each made in the transaction that ends its job: once, whatever fails. One to a STOP
 * goes to a person who has just opted out.
 */
export const consentAnswer = job<AutoAnswer, AutoAnswerDeps>(
  'inbox.consent-answer',
  { concurrency: 20, pausable: true, activeOnly: true, maxAgeMs: ANSWER_MS },
  (deps, one) =>
    answerConversation(deps, one, {
      purpose: 'service',
      answersConsent: true,
      validUntil: new Date(deps.clock.now().getTime() + ANSWER_MS),
    }),
);

/** Deletes what was noted about answers more than 24 hours ago. */
export const consentAnswerTasks = ({ pool }: { readonly pool: Db }): Task[] => [
  {
    name: 'old consent answers',
    work: every(HOUR_MS, () => exec(pool, sql`DELETE FROM consent_answer WHERE at < now() - interval '24 hours'`)),
  },
];
