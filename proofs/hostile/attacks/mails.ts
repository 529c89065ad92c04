import { setTimeout as delay } from 'node:timers/promises';
import type { Attack, Ground } from '../attack.ts';
import { MEANS } from '../attack.ts';
import { ask, fieldOf, PG, requestsAt, type Wire, withKey } from '../requests.ts';

const INVITATIONS = `${PG}/invitations`;
const KEYS = 5;
/** Mails in the queue when the attack begins, of an account without a budget: 20 s for the mail server. */
const WAITING = 80;
/** Delay after a request that was rejected, so that the rate of a trial account allows the next. */
const TRIAL_PAUSE_MS = 100;

const invitation = (ground: Ground, email: string): Wire =>
  withKey(ground, 'POST', INVITATIONS, { email, role: 'viewer' });

/** Mails to people without an account over the operator's mail server. It takes a second for each. */
export const MAIL_ATTACKS: readonly Attack[] = [
  {
    name: 'invitations to one address, again and again',
    player: 'trial tenant',
    tiny: true,
    mails: true,
    prepare: requestsAt(MEANS.trialPerSecond, async (ground) => {
      const invited = 'invited@example.com';
      const id = Number(fieldOf(await ask(ground, invitation(ground, invited)), 'id'));
      // Tags and case are other spellings of the same mailbox.
      return (n) =>
        n % 2
          ? withKey(ground, 'POST', `${INVITATIONS}/${id}/resend`, {})
          : invitation(ground, `Invited+${n}@example.com`);
    }),
  },
  {
    name: 'invitations of five keys to many addresses',
    player: 'trial tenant',
    tiny: true,
    mails: true,
    prepare: async (ground) => {
      const more = Array.from({ length: KEYS - 1 }, (_, n) =>
        ask(ground, withKey(ground, 'POST', `${PG}/authentication`, { name: `mails ${n}` })),
      );
      const keys = (await Promise.all(more)).map((made) => String(fieldOf(made, 'apiKey')));
      const grounds = [ground.tenant.apiKey, ...keys].map((apiKey) => ({
        ...ground,
        tenant: { ...ground.tenant, apiKey },
      }));
      // So that a queue without turns is long enough to show, however few requests the attack itself gets through.
      for (let n = 0; n < WAITING; n++) {
        const made = ask(ground, invitation(grounds[n % KEYS] ?? ground, `waiting-${n}@example.com`));
        await made.catch(() => delay(TRIAL_PAUSE_MS));
      }
      return requestsAt(
        KEYS * MEANS.trialPerSecond,
        () => (n) => invitation(grounds[n % KEYS] ?? ground, `invited-${n}@example.com`),
      )(ground);
    },
  },
];
