import type { Command } from 'commander';
import type { Pool } from 'pg';
import { Type } from 'typebox';
import { networkOf } from '../core/address.ts';
import { every, type Task } from '../core/background.ts';
import type { CommandContext } from '../core/cli.ts';
import type { Config } from '../core/config.ts';
import { as, columns, type Db, exec, maybeOne, one, type RowOf, raw, sql } from '../core/db/query.ts';
import { tenantTransaction, transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { type App, ErrorOut, type PlatformDeps, ref, withExamples } from '../core/http/app.ts';
import { requireSameOrigin } from '../core/http/browser.ts';
import { job } from '../core/jobs.ts';
import type { Log } from '../core/log.ts';
import { isEmail, type Language, language, type Mail, mailOrDrop, paragraphs } from '../core/mail.ts';
import type { SecretKey } from '../core/secrets.ts';
import { HOUR_MS } from '../core/time.ts';
import { operatorAuthor, recordAudit } from './audit.ts';
import { createAddressLimit } from './authenticate.ts';
import { hashPassword, refuseGuessablePassword } from './password.ts';
import { endSessionsOfUser, generateToken, hashOfToken } from './sessions.ts';
import { findUserByUsername, PASSWORD_SIGNS_IN, updatePassword } from './users.ts';

const ResetRequestIn = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 200, description: 'The username, which is the email address.' }),
  language: Type.Optional(language()),
});

const ResetIn = Type.Object({
  token: Type.String({ maxLength: 100, description: 'The part of the link behind the sign #.' }),
  password: Type.String({
    minLength: 12,
    maxLength: 200,
    description: 'At least 12 characters, and not the username.',
  }),
});

const TOKEN_EXAMPLE = 'pQ3nW7xK9sT1vZ5bC8dF2gH4jL6mR0yA-uE_iO7kX2w';

const PATH = '/api/partner-gateway/v1/password-reset';
const REQUESTS_PER_MINUTE = 10;

/** Registers the routes for a forgotten password. They need no credentials. */
export function passwordResetRoutes(app: App, { config, pool }: PlatformDeps): void {
  const limit = createAddressLimit(REQUESTS_PER_MINUTE);
  const common = { tags: ['Sessions'], security: [] };
  const errors = { 400: ref(ErrorOut), 403: ref(ErrorOut), 409: ref(ErrorOut), 429: ref(ErrorOut) };

  app.post(PATH, {
    onRequest: requireSameOrigin,
    schema: {
      ...common,
      operationId: 'requestPasswordReset',
      summary: 'Request a mail with a link to a new password',
      description:
        'For pages of the console, like signing in. The response is the same, and takes the same time, whether ' +
        'there is such a user. The username must be an email address; other users ask an administrator. At most ' +
        'three mails an hour for each address. 409 if the gateway has no mail server.',
      body: withExamples(ResetRequestIn, { username: 'grace@example.com', language: 'en' }),
      response: { 202: Type.Null({ description: 'Received' }), ...errors },
    },
    handler: async ({ ip, body }, reply) => {
      limit(ip);
      if (config.mail === undefined)
        throw new AppError('conflict', { message: 'This gateway sends no mails: ask an administrator for a link' });
      const username = body.username.trim().toLowerCase();
      // Of no account, and the same for every username.
      const request = { username, language: body.language ?? 'en' } as const;
      await resetRequest.add(pool, { accountId: 0, key: username, payload: request });
      return reply.code(202).send(null);
    },
  });

  app.post(`${PATH}/confirm`, {
    onRequest: requireSameOrigin,
    schema: {
      ...common,
      operationId: 'resetPassword',
      summary: 'Choose a new password with a link',
      description:
        'The link works once, within one hour (400 otherwise). All sessions of the user end; second factors stay.',
      body: withExamples(ResetIn, { token: TOKEN_EXAMPLE, password: 'staple battery horse' }),
      response: { 204: Type.Null({ description: 'Changed' }), ...errors },
    },
    handler: async ({ ip, body }) => {
      limit(ip);
      await confirmReset(pool, { ...body, ip });
    },
  });
}

/**
 * Sets the password of the user to whom a link belongs, and ends all their sessions and links. The user is not signed
 * in by this, and second factors stay. Errors: 400 for a link that is unknown, used or expired, and for a password that
 * equals the username; the link then stays valid.
 */
async function confirmReset(
  pool: Pool,
  { token, password, ip }: { readonly token: string; readonly password: string; readonly ip: string },
): Promise<void> {
  const hash = hashOfToken(token);
  const found = hash && (await findReset(pool, { hash }));
  if (!hash || !found) throw ended();
  const { accountId, userId, username } = found;
  refuseGuessablePassword('password', { username, password });
  const passwordHash = await hashPassword(password, { by: networkOf(ip) });
  await tenantTransaction(pool, { accountId }, async (tx) => {
    if ((await endReset(tx, { accountId, hash })) === 0) throw ended();
    await updatePassword(tx, { accountId, userId, passwordHash });
    await endResetsOfUser(tx, { accountId, userId });
    const author = { kind: 'user', accountId, keyId: null, userId, username } as const;
    await endSessionsOfUser(tx, author, { userId, exceptId: null, reason: 'the password was reset' });
    await recordAudit(tx, author, { action: 'user.password', subject: `user:${userId}`, detail: { by: 'link' } });
  });
}

const ended = (): AppError =>
  invalidFields([{ field: 'token', message: 'is not valid: the link was used, has expired, or is incomplete' }]);

const VALID_SECONDS = 3600;

/**
 * Makes a link with which a user may choose a new password: once, within one hour. The token is in the fragment, which
 * browsers never send; only its hash is stored.
 */
async function createResetLink(
  tx: Db,
  { publicUrl }: Pick<Config, 'publicUrl'>,
  { accountId, userId }: { readonly accountId: number; readonly userId: number },
): Promise<{ readonly link: string; readonly expiresAt: Date }> {
  const { token, hash } = generateToken();
  const { expiresAt } = await insertReset(tx, { hash, accountId, userId, validSeconds: VALID_SECONDS });
  return { link: `${publicUrl}/reset-password#${token}`, expiresAt };
}

type Texts = { readonly subject: string; readonly text: (link: string, username: string) => string };

const TEXTS: Readonly<Record<Language, Texts>> = {
  en: {
    subject: 'Choose a new password',
    text: (link, username) =>
      paragraphs(
        `A new password was requested for the user ${username}. To choose one, open this link within one hour:`,
        link,
        'The link works once. If you did not request it, ignore this mail: your password is unchanged.',
      ),
  },
  it: {
    subject: 'Scegli una nuova password',
    text: (link, username) =>
      paragraphs(
        `È stata richiesta una nuova password per l’utente ${username}. Per sceglierla, apri questo link entro un’ora:`,
        link,
        'Il link funziona una sola volta. Se non l’hai richiesta tu, non fare nulla: la tua password resta invariata.',
      ),
  },
  es: {
    subject: 'Elige una contraseña nueva',
    text: (link, username) =>
      paragraphs(
        `Se ha pedido una contraseña nueva para el usuario ${username}. Para elegirla, abre este enlace antes de una hora:`,
        link,
        'El enlace funciona una sola vez. Si no la has pedido tú, no hagas nada: tu contraseña no cambia.',
      ),
  },
  de: {
    subject: 'Neues Passwort wählen',
    text: (link, username) =>
      paragraphs(
        `Für den Benutzer ${username} wurde ein neues Passwort angefordert. Um es zu wählen, öffnen Sie diesen Link ` +
          'innerhalb einer Stunde:',
        link,
        'Der Link funktioniert einmal. Wenn die Anforderung nicht von Ihnen kommt, müssen Sie nichts tun: Ihr Passwort ' +
          'bleibt, wie es ist.',
      ),
  },
};

const resetMail = (language: Language, { username, link }: { username: string; link: string }): Mail => ({
  to: username,
  subject: TEXTS[language].subject,
  text: TEXTS[language].text(link, username),
});

type Deps = {
  readonly config: Pick<Config, 'publicUrl'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly log: Log;
};

export const passwordResetTasks = ({ pool }: Pick<Deps, 'pool'>): Task[] => [
  { name: 'expired password links', work: every(HOUR_MS, () => deleteExpiredResets(pool)) },
];

/**
 * Requests for a new password, in their order: a mail is sent if the user exists. Requests with the same username that
 * wait are one.
 */
export const resetRequest = job<{ readonly username: string; readonly language: Language }, Deps>(
  'password.reset',
  { concurrency: 1, pausable: true },
  ({ config, pool, ...deps }, { payload: { username, language }, end }) =>
    transaction(pool, async (tx) => {
      if (!(await end(tx))) return;
      const user = isEmail(username) ? await findResettable(tx, { username }) : undefined;
      if (!user) return;
      const { link, expiresAt } = await createResetLink(tx, config, user);
      const mail = resetMail(language, { username: user.username, link });
      await mailOrDrop(tx, deps, { kind: 'reset', ...mail, accountId: user.accountId, expiresAt });
    }),
);

/** Registers `user reset-link`, below the command `user`. */
export function registerResetCommands(user: Command, context: CommandContext): void {
  user
    .command('reset-link')
    .argument('<username>', 'username of a user of any account')
    .description('print a link with which the user may choose a new password, once, within one hour')
    .action(async (username: string) => {
      context.report(await makeLink(context, username), ({ link }) => `${link}\nThe link works once, within one hour.`);
      context.warnIfLocal('The link');
    });
}

const makeLink = (context: CommandContext, username: string) =>
  context.withDatabase(async (pool) => {
    const user = await findUserByUsername(pool, { username });
    if (!user) throw new AppError('not_found', { message: `There is no user ${username}` });
    const { id: userId, accountId } = user;
    return transaction(pool, async (tx) => {
      const { link, expiresAt } = await createResetLink(tx, context.config(), { accountId, userId });
      const event = { action: 'user.reset-link', subject: `user:${userId}`, detail: { username } };
      await recordAudit(tx, operatorAuthor(accountId), event);
      return { username, link, expiresAt: expiresAt.toISOString() };
    });
  });

const RESETTABLE = columns({
  userId: as<number>('u.id'),
  accountId: as<number>('u.account_id'),
  username: as<string>('u.username'),
});
type Resettable = RowOf<typeof RESETTABLE>;

/** Finds a user who may reset the password, in any account that is not suspended. */
const findResettable = (db: Db, { username }: { username: string }): Promise<Resettable | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${RESETTABLE} FROM app_user u JOIN account a ON a.id = u.account_id
        WHERE u.username = ${username} AND a.status = 'active' AND ${raw(PASSWORD_SIGNS_IN)}`,
  );

/** Inserts a link, and returns when it ends. */
const insertReset = (
  db: Db,
  reset: { hash: Buffer; accountId: number; userId: number; validSeconds: number },
): Promise<{ expiresAt: Date }> =>
  one(
    db,
    sql`INSERT INTO password_reset (hash, account_id, user_id, expires_at)
        VALUES (${reset.hash}, ${reset.accountId}, ${reset.userId}, now() + make_interval(secs => ${reset.validSeconds}))
        RETURNING expires_at AS "expiresAt"`,
  );

/** Finds the user of a link, of any account. Undefined if the link is used or expired. */
const findReset = (db: Db, { hash }: { hash: Buffer }): Promise<Resettable | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${RESETTABLE} FROM password_reset r JOIN app_user u ON u.id = r.user_id JOIN account a ON a.id = u.account_id
        WHERE r.hash = ${hash} AND r.expires_at > now() AND a.status = 'active'`,
  );

/** Ends a link that has not expired. Returns 0 if it was used in the meantime. */
const endReset = (db: Db, { accountId, hash }: { accountId: number; hash: Buffer }): Promise<number> =>
  exec(
    db,
    sql`UPDATE password_reset SET expires_at = now()
        WHERE account_id = ${accountId} AND hash = ${hash} AND expires_at > now()`,
  );

const endResetsOfUser = (db: Db, input: { accountId: number; userId: number }): Promise<number> =>
  exec(
    db,
    sql`UPDATE password_reset SET expires_at = now()
        WHERE account_id = ${input.accountId} AND user_id = ${input.userId} AND expires_at > now()`,
  );

export const deleteExpiredResets = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM password_reset WHERE expires_at <= now()`);
