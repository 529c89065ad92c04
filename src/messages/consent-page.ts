import type { Pool } from 'pg';
import { Type } from 'typebox';
import { createAddressLimit } from '../accounts/authenticate.ts';
import { maybeOne, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AccountAway, AppError } from '../core/errors.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { changeConsent, createConsentCheck } from './consent.ts';
import { loadConsentSettings } from './consent-settings.ts';
import { createPersonHash, type HashOfPerson } from './erased.ts';
import { type AskedOnPage, answerOnPage, findByToken } from './opt-ins.ts';
import { CONSENT_PAGES, createOptOutTokens, readConsentPath } from './opt-out-links.ts';
import { stopsOf } from './stops.ts';

const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const MAX_BODY_BYTES = 1024;
/** Carriers put thousands of phones behind one address. */
const PAGES_PER_MINUTE = 300;
const page = { content: { 'text/html': { schema: Type.String(), example: '<!doctype html><title>Acme</title>…' } } };

/** What a page is about: a question for an opt-in, or the choice of a person who may opt out. */
type Found = ({ readonly kind: 'question' } & AskedOnPage) | ({ readonly kind: 'optOut' } & OptOutChoice);
type OptOutChoice = {
  readonly accountId: number;
  readonly account: string;
  readonly to: string;
  readonly state: 'IN' | 'OUT';
};

/**
 * Registers the pages on which people confirm or opt out, each behind the link of a message. Programs fetch links of
 * messages, so only the buttons change something.
 */
export function consentPageRoutes(app: App, { pool, secretKey }: PlatformDeps): void {
  const tokens = createOptOutTokens(secretKey);
  const hashOf = createPersonHash(secretKey);
  const params = Type.Object({ token: Type.String({ maxLength: 50 }) });
  const schema = { tags: ['Contacts'], security: [], params };
  const path = `${CONSENT_PAGES}:token`;
  // Failures count against the address, so tokens cannot be tried out.
  const config = { unauthenticated: true };

  const limit = createAddressLimit(PAGES_PER_MINUTE);

  async function find(end: string, ip: string): Promise<Found> {
    limit(ip);
    const read = readConsentPath(end);
    if (!read) throw new AppError('not_found');
    const person = tokens.open(read.token);
    const found =
      person?.accountId === read.accountId
        ? await findChoice({ pool, hashOf }, person)
        : await findQuestion(pool, read);
    if (!found) throw new AppError('not_found');
    return found;
  }

  app.get(path, {
    config,
    schema: {
      ...schema,
      operationId: 'showConsentPage',
      summary: 'Show the page of a question for an opt-in, or of an opt-out',
      response: { 200: { description: 'The page, which changes nothing.', ...page } },
    },
    handler: async ({ params: { token }, headers, ip }, reply) => {
      const found = await find(token, ip);
      reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY);
      reply.header('referrer-policy', 'no-referrer').header('cache-control', 'no-store');
      return pageOf(found, languageOf(headers['accept-language']));
    },
  });

  app.register(async (scope: App) => {
    // A form without fields.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, octets, done) => done(null, octets));
    scope.post(path, {
      bodyLimit: MAX_BODY_BYTES,
      config,
      schema: {
        ...schema,
        operationId: 'answerConsentPage',
        summary: 'Answer a question for an opt-in, or opt out',
        querystring: Type.Object({
          answer: Type.Optional(
            Type.Enum(['yes', 'no'], { type: 'string', description: '`no` on the page of an opt-out opts out.' }),
          ),
        }),
        response: { 200: { description: 'The page with the answer.', ...page } },
      },
      handler: async ({ params: { token }, query: { answer }, headers, ip }, reply) => {
        const found = await find(token, ip);
        if (answer === undefined || (found.kind === 'optOut' && answer === 'yes')) throw new AppError('not_found');
        const answered =
          found.kind === 'optOut'
            ? await optOutOnPage(pool, found, ip)
            : { ...found, state: await answerQuestion(pool, found, { isYes: answer === 'yes', ip }) };
        reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY);
        return pageOf(answered, languageOf(headers['accept-language']));
      },
    });
  });
}

async function findQuestion(pool: Pool, read: Parameters<typeof findByToken>[1]): Promise<Found | undefined> {
  const found = await findByToken(pool, read);
  return found && { kind: 'question', ...found };
}

const answerQuestion = (pool: Pool, found: AskedOnPage, { isYes, ip }: { isYes: boolean; ip: string }) =>
  tenantTransaction(pool, found, (tx) => answerOnPage(tx, found, { isYes, ip }));

type ChoiceDeps = { readonly pool: Pool; readonly hashOf: HashOfPerson };

/** Finds what a person has chosen. A suspended account takes opt-outs, too: it may send again one day. */
async function findChoice(
  { pool, hashOf }: ChoiceDeps,
  { accountId, phoneNumber }: { readonly accountId: number; readonly phoneNumber: string },
): Promise<Found | undefined> {
  const account = await maybeOne<{ name: string; away: string | null }>(
    pool,
    sql`SELECT name, away FROM account WHERE id = ${accountId}`,
  );
  if (!account) return undefined;
  if (account.away !== null) throw new AccountAway([accountId]);
  const message = { channel: 'SMS', destination: phoneNumber, isKnownNumber: true } as const;
  const faultOf = await createConsentCheck(tenant(pool, { accountId }), hashOf)({ accountId }, [message]);
  const state = faultOf('SMS', phoneNumber) === 'opted_out' ? 'OUT' : 'IN';
  return { kind: 'optOut', accountId, account: account.name, to: phoneNumber, state };
}

/**
 * Opts a person out as a STOP does, with the page as proof. It is done once: of those who are out already, and of those
 * who are erased, nothing is written.
 */
async function optOutOnPage(pool: Pool, found: Found & { kind: 'optOut' }, ip: string): Promise<Found> {
  const { accountId, to: phoneNumber, state } = found;
  if (state === 'OUT') return found;
  await tenantTransaction(pool, { accountId }, async (tx) => {
    const now = new Date();
    const settingsOf = await loadConsentSettings(tx, [accountId]);
    const changes = stopsOf([{ accountId, phoneNumber, channel: 'SMS', source: 'PAGE' }], settingsOf, now);
    const proof = { url: CONSENT_PAGES, ip, at: now.toISOString(), number: phoneNumber };
    await changeConsent(
      tx,
      changes.map((change) => ({ ...change, proof })),
    );
  });
  return { ...found, state: 'OUT' };
}

const PAGE_TEXTS = {
  en: {
    ask: 'Do you want to get messages from',
    yes: 'Yes, send me messages',
    no: 'No',
    CONFIRMED: 'Thank you. You will get messages.',
    DECLINED: 'You will get no messages.',
    EXPIRED: 'This link has expired.',
    askOut: 'Do you want no more messages from',
    out: 'No more messages',
    OUT: 'You will get no more SMS.',
  },
  it: {
    ask: 'Vuole ricevere messaggi da',
    yes: 'Sì, inviatemi messaggi',
    no: 'No',
    CONFIRMED: 'Grazie. Riceverà messaggi.',
    DECLINED: 'Non riceverà messaggi.',
    EXPIRED: 'Il link è scaduto.',
    askOut: 'Non vuole più ricevere messaggi da',
    out: 'Basta messaggi',
    OUT: 'Non riceverà più SMS.',
  },
  es: {
    ask: '¿Quiere recibir mensajes de',
    yes: 'Sí, quiero recibirlos',
    no: 'No',
    CONFIRMED: 'Gracias. Recibirá mensajes.',
    DECLINED: 'No recibirá mensajes.',
    EXPIRED: 'El enlace ha caducado.',
    askOut: '¿Quiere dejar de recibir mensajes de',
    out: 'No más mensajes',
    OUT: 'No recibirá más SMS.',
  },
  de: {
    ask: 'Möchten Sie Nachrichten erhalten von',
    yes: 'Ja, schicken Sie mir Nachrichten',
    no: 'Nein',
    CONFIRMED: 'Danke. Sie erhalten Nachrichten.',
    DECLINED: 'Sie erhalten keine Nachrichten.',
    EXPIRED: 'Dieser Link ist abgelaufen.',
    askOut: 'Möchten Sie keine Nachrichten mehr erhalten von',
    out: 'Keine Nachrichten mehr',
    OUT: 'Sie erhalten keine SMS mehr.',
  },
} as const;
type Language = keyof typeof PAGE_TEXTS;

const languageOf = (accepted = ''): Language =>
  (['en', 'it', 'es', 'de'] as const).find((language) => accepted.toLowerCase().startsWith(language)) ?? 'en';

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
const STYLE =
  'body{font:18px system-ui;max-width:26em;margin:4em auto;padding:0 1em}button{font:inherit;padding:.6em 1em;margin:.3em .6em 0 0}';

function pageOf({ kind, state, account, to }: Found, language: Language): string {
  const texts = PAGE_TEXTS[language];
  const isOpen = state === 'PENDING' || state === 'IN';
  const button = (answer: 'yes' | 'no', label: string): string =>
    `<button formaction="?answer=${answer}">${label}</button>`;
  const [question, buttons] =
    kind === 'optOut'
      ? [texts.askOut, button('no', texts.out)]
      : [texts.ask, `${button('yes', texts.yes)}${button('no', texts.no)}`];
  const content = isOpen
    ? `<p>${question} ${escaped(account)}?</p><p>SMS · …${to.slice(-3)}</p><form method="post">${buttons}</form>`
    : `<p>${texts[state]}</p>`;
  return `<!doctype html><html lang="${language}"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"><title>${escaped(account)}</title><style>${STYLE}</style><h1>${escaped(account)}</h1>${content}</html>`;
}
