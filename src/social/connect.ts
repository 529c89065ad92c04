import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { Type } from 'typebox';
import { recordAudit } from '../accounts/audit.ts';
import { hashOfToken } from '../accounts/sessions.ts';
import { isPlatform, missingScopes, type Platform } from '../core/channels.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, ErrorOut, type PlatformDeps, ref } from '../core/http/app.ts';
import type { Language } from '../core/mail.ts';
import { open } from '../core/secrets.ts';
import {
  type Caller,
  callerOf,
  exchangeCode,
  type Grant,
  type Network,
  NetworkFailure,
  type Profile,
  redirectUriOf,
  type SocialDeps,
  toWords,
} from './network.ts';
import { NETWORKS } from './networks.ts';
import {
  type ConnectState,
  copyPicture,
  deleteState,
  insertProfile,
  type PictureDeps,
  refreshAtOf,
  sealTokens,
} from './profiles.ts';
import { browserSecretIn, hashOf, PlatformParams, verifierContext } from './routes.ts';

type SocialCallbackDeps = PlatformDeps & Pick<PictureDeps, 'outbound'>;

/**
 * Registers the route to which networks send people back. The state in the query is the credential, and
 * is valid once.
 */
export function socialCallbackRoutes(app: App, deps: SocialCallbackDeps): void {
  app.get('/oauth/:platform/callback', {
    // Failures count against the address.
    config: { unauthenticated: true },
    schema: {
      tags: ['Social profiles'],
      security: [],
      operationId: 'finishSocial',
      summary: 'Finish connecting a profile',
      description: 'For the browser of the person, which the network sends here.',
      params: PlatformParams,
      response: { 200: pageOut('The profile is connected.'), ...NOT_CONNECTED, 429: ref(ErrorOut) },
    },
    handler: async ({ params: { platform }, raw, headers, log }, reply) => {
      if (!isPlatform(platform)) throw new AppError('not_found');
      // The raw query: a parameter that occurs twice must be seen twice.
      const parameters = new URL(raw.url ?? '/', 'http://localhost').searchParams;
      reply.header('referrer-policy', 'no-referrer');
      const returned = { platform, parameters, browserSecret: browserSecretIn(headers.cookie) };
      const network = NETWORKS[platform];
      const finished = await finishConnection(deps, returned).catch(toAppError);
      if (!isBrowser(headers.accept)) throwFault(network, finished);
      if (finished instanceof AppError) log.warn({ err: finished, channel: platform }, 'a profile was not connected');
      reply
        .code(finished instanceof AppError ? finished.status : finished.ok ? 200 : 400)
        .type('text/html; charset=utf-8')
        .header('content-security-policy', PAGE_POLICY);
      return resultPage(network, finished, headers['accept-language']);
    },
  });
}

const pageOut = (description: string) => ({
  description,
  content: { 'text/html': { schema: Type.String(), example: '<!doctype html><title>LinkedIn</title>…' } },
});
const notConnected = {
  description: 'The reason why the profile is not connected: a page for browsers, the usual error for other clients.',
  content: {
    'text/html': { schema: Type.String(), example: '<!doctype html><title>LinkedIn</title>…' },
    'application/json': { schema: ref(ErrorOut) },
  },
};
const NOT_CONNECTED = { 400: notConnected, 404: notConnected, 502: notConnected };

/** Throws, for programs, the reason why nothing was connected. */
function throwFault(network: Network, finished: Finished | AppError): void {
  if (finished instanceof AppError) throw finished;
  if (finished.ok) return;
  const { words } = finished.refusal;
  const quoted = words === '' ? '' : ` ${network.label} says: ${words}`;
  throw new AppError('invalid', { message: `${explain(network, finished.refusal, 'en')}${quoted}` });
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

type Texts = {
  readonly connected: (network: string) => string;
  readonly failed: (network: string) => string;
  readonly notListed: (network: string) => string;
  readonly says: (network: string) => string;
  readonly back: string;
};

/** The texts in the languages of the console. */
const TEXTS = {
  en: {
    connected: (network) => `${network} is connected. You can close this window.`,
    failed: (network) => `${network} could not be connected.`,
    notListed: (network) => `${network} did not list what belongs to the profile.`,
    says: (network) => `${network} says:`,
    back: 'Back to the console',
  },
  it: {
    connected: (network) => `${network} è collegato. Puoi chiudere questa finestra.`,
    failed: (network) => `Non è stato possibile collegare ${network}.`,
    notListed: (network) => `${network} non ha elencato ciò che appartiene al profilo.`,
    says: (network) => `Risposta di ${network}:`,
    back: 'Torna alla console',
  },
  es: {
    connected: (network) => `${network}: perfil conectado. Puedes cerrar esta ventana.`,
    failed: (network) => `No se ha podido conectar el perfil de ${network}.`,
    notListed: (network) => `${network} no ha indicado qué pertenece al perfil.`,
    says: (network) => `Respuesta de ${network}:`,
    back: 'Volver a la consola',
  },
  de: {
    connected: (network) => `${network} ist verbunden. Sie können dieses Fenster schließen.`,
    failed: (network) => `${network} konnte nicht verbunden werden.`,
    notListed: (network) => `${network} hat nicht angegeben, was zu dem Profil gehört.`,
    says: (network) => `Antwort von ${network}:`,
    back: 'Zurück zur Konsole',
  },
} satisfies Readonly<Record<Language, Texts>>;

const isLanguage = (text: string): text is Language => Object.hasOwn(TEXTS, text);

/** The Content-Security-Policy of the page: it loads nothing and cannot be framed. */
const PAGE_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Escapes a text for HTML: messages of networks may contain anything. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const paragraph = (text: string): string => `<p>${escaped(text)}</p>`;

/** Returns true if a person reads the response: browsers accept HTML, programs do not. */
const isBrowser = (accept = ''): boolean => /\btext\/html\b/i.test(accept);

/**
 * Makes the page that a person sees after connecting a profile, or failing to. It has no scripts, and a link back to
 * the console. The network's message is quoted separately from our text. `acceptLanguage` is that header, of which only
 * the order counts: browsers send the preferred language first.
 */
function resultPage(network: Network, finished: Finished | AppError, acceptLanguage = ''): string {
  const preferred = acceptLanguage.split(',').map((wish) => wish.trim().slice(0, 2).toLowerCase());
  const language = preferred.find(isLanguage) ?? 'en';
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Heliograph</title>
<main>
${sentencesOf(network, finished, language).join('\n')}
<p><a href="/social">${TEXTS[language].back}</a></p>
</main>
</html>
`;
}

function sentencesOf(network: Network, finished: Finished | AppError, language: Language): readonly string[] {
  const { label } = network;
  const { connected, failed, notListed, says } = TEXTS[language];
  const quoted = (words: string): readonly string[] =>
    words === '' ? [] : [paragraph(says(label)), `<blockquote>${paragraph(words)}</blockquote>`];
  if (!('ok' in finished)) return [paragraph(failed(label)), paragraph(finished.message)];
  if (!finished.ok) {
    const { refusal } = finished;
    return [paragraph(failed(label)), ...quoted(refusal.words), paragraph(explain(network, refusal, language))];
  }
  const { linkedFault } = finished;
  const note = linkedFault === null ? [] : [paragraph(notListed(label)), ...quoted(linkedFault)];
  return [paragraph(connected(label)), ...note];
}

type FinishDeps = SocialDeps & PictureDeps & { readonly pool: Pool };

/** The result of a connection: the profile is stored, or the network or the person declined. */
type Finished =
  | { readonly ok: true; readonly linkedFault: string | null }
  | { readonly ok: false; readonly refusal: Refusal };

type Returned = {
  readonly platform: Platform;
  /** The query with which the network sent the person back. */
  readonly parameters: URLSearchParams;
  readonly browserSecret: string | null;
};

/**
 * Finishes a connection that `beginConnection` started: checks and consumes its state, exchanges the code for tokens,
 * and stores the profile, replacing an earlier one. A refusal is logged with the network's message, which is trusted
 * only because the state was valid: without a valid state, anyone could have written it. Errors: 400 when the state is
 * unknown, for another network or browser, used or expired; 502 when the network fails.
 */
async function finishConnection(deps: FinishDeps, returned: Returned): Promise<Finished> {
  const { platform, parameters } = returned;
  const state = await consumeState(deps, returned);
  const [network, caller] = [NETWORKS[platform], callerOf(deps, platform)];
  const verifier =
    state.verifier === null ? null : open(deps.secretKey, state.verifier, verifierContext(state.hash)).toString();
  const said = {
    parameters,
    state: parameters.get('state') ?? '',
    redirectUri: redirectUriOf(deps, platform),
    verifier,
  };
  const refused = (refusal: Refusal): Finished => {
    const { accountId } = state;
    const { reason, words, scopes } = refusal;
    const response = loggedParameters(parameters);
    deps.log.warn({ accountId, channel: platform, reason, words, scopes, response }, 'a network granted no profile');
    return { ok: false, refusal };
  };
  const answer = refusalIn(parameters);
  if (answer) return refused(answer);
  const fetched = await withBadGatewayErrors(network, () => fetchProfile(network, caller, said));
  const lack = lackOf(network, fetched);
  if (lack) return refused(lack);
  const { linkedFault } = fetched.profile;
  if (linkedFault !== null)
    deps.log.warn({ accountId: state.accountId, channel: platform, words: linkedFault }, 'a network listed nothing');
  const { accountId } = state;
  const picture = await copyPicture(deps, caller, { accountId, url: fetched.profile.pictureUrl });
  await storeProfile(deps, state, { ...fetched, picture, sandbox: caller.simulated !== null });
  return { ok: true, linkedFault };
}

async function consumeState({ pool, clock }: FinishDeps, returned: Returned): Promise<ConnectState> {
  const given = returned.parameters.getAll('state');
  const hash = given.length === 1 ? hashOfToken(String(given[0])) : undefined;
  const state = hash && (await deleteState(pool, { hash }));
  const ours =
    state?.platform === returned.platform &&
    state.expiresAt > clock.now() &&
    isSameBrowser(state.browserHash, returned.browserSecret);
  if (!state || !ours)
    throw new AppError('invalid', {
      message: 'This sign-in was not started here, or has expired: connect the profile again',
    });
  return state;
}

const isSameBrowser = (hash: Buffer | null, secret: string | null): boolean =>
  hash === null || (secret !== null && timingSafeEqual(hash, hashOf(secret)));

type Fetched = { readonly grant: Grant; readonly profile: Profile };
type CodeResponse = Parameters<typeof exchangeCode>[2];

async function fetchProfile(network: Network, caller: Caller, said: CodeResponse): Promise<Fetched> {
  const short = await exchangeCode(network, caller, said);
  const grant = network.exchangeForLongLived ? await network.exchangeForLongLived(caller, short) : short;
  return { grant, profile: await network.fetchProfile(caller, grant) };
}

async function withBadGatewayErrors<T>({ label }: Network, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof NetworkFailure)) throw error;
    throw new AppError('bad_gateway', { message: `${label}: ${error.message}` });
  }
}

const grantedScopes = ({ grant, profile }: Fetched): readonly string[] => profile.scopes ?? grant.scopes;

/** Returns the scopes or pages that a grant lacks, since people can deselect them; null if none. Errors: 502. */
function lackOf({ platform, label, needsPages }: Network, { grant, profile }: Fetched): Refusal | null {
  const missing = missingScopes(platform, grantedScopes({ grant, profile }));
  if (missing.length > 0) return { reason: 'scopes_missing', words: '', scopes: missing };
  if (profile.externalId === '')
    throw new AppError('bad_gateway', { message: `${label}: the response has no profile` });
  if (needsPages && profile.linked.length === 0)
    return { reason: 'no_page', words: profile.linkedFault ?? '', scopes: [] };
  return null;
}

type Copied = Fetched & { readonly picture: Buffer | null; readonly sandbox: boolean };

async function storeProfile(deps: FinishDeps, state: ConnectState, fetched: Copied): Promise<void> {
  const { accountId, platform, author } = state;
  const { grant, profile } = fetched;
  const tokens = { access: grant.access, refresh: grant.refresh, linked: profile.linkedTokens };
  await tenantTransaction(deps.pool, { accountId }, async (tx) => {
    await insertProfile(tx, {
      accountId,
      platform,
      externalId: profile.externalId,
      username: profile.username,
      profileName: profile.name,
      picture: fetched.picture,
      sandbox: fetched.sandbox,
      linked: [...profile.linked],
      linkedFault: profile.linkedFault,
      scopes: [...grantedScopes(fetched)],
      tokens: sealTokens(deps.secretKey, state, tokens),
      tokenExpiresAt: grant.expiresAt,
      refreshAt: refreshAtOf(NETWORKS[platform], grant, deps.clock.now()),
      connectedBy: author.userId,
    });
    const detail = { platform, profile: profile.name, linked: profile.linked.length };
    await recordAudit(
      tx,
      { accountId, ...author },
      { action: 'social.connect', subject: `social:${platform}`, detail },
    );
  });
}

/** The reason why a network, or the person there, did not grant the access needed. */
type Refusal = {
  readonly reason: /** The person declined. */
    | 'cancelled'
    /** The app may not ask for a scope. */
    | 'scopes_refused'
    /** The network cannot respond now. */
    | 'unavailable'
    /** Another reason, mostly in the registration of the app. */
    | 'other'
    /** The person deselected required scopes. */
    | 'scopes_missing'
    /** There is no page that the program may use. */
    | 'no_page';
  /** The network's own message for people; empty if there is none. Anyone may have written it. */
  readonly words: string;
  readonly scopes: readonly string[];
};

/**
 * The parameters of an error response: those of OAuth, and those of Meta, which omits `error` when its dialog itself
 * fails.
 */
const PARAMETERS = ['error', 'error_reason', 'error_code', 'error_description', 'error_message'] as const;
const PERSON_REFUSED = new Set(['access_denied', 'user_denied', 'user_cancelled_login', 'user_cancelled_authorize']);
const SCOPES_REFUSED = new Set(['unauthorized_scope_error', 'invalid_scope']);
const UNAVAILABLE = new Set(['server_error', 'temporarily_unavailable']);

/** Reads the error response in the query of a callback; null if it is not one. */
function refusalIn(parameters: URLSearchParams): Refusal | null {
  if (!PARAMETERS.some((name) => parameters.has(name))) return null;
  const textOf = (name: (typeof PARAMETERS)[number]): string => parameters.get(name) ?? '';
  const codes = [textOf('error'), textOf('error_reason'), textOf('error_code')].filter((code) => code !== '');
  const message = textOf('error_description') || textOf('error_message');
  return { reason: reasonOf(codes, message), words: toWords(message, codes.join(', ')), scopes: [] };
}

/** The parameters of an error response as they are logged: bounded, and without anything that looks like a token. */
const loggedParameters = (parameters: URLSearchParams): Readonly<Record<string, string>> =>
  Object.fromEntries(
    PARAMETERS.filter((name) => parameters.has(name)).map((name) => [name, toWords(parameters.get(name) ?? '', '')]),
  );

function reasonOf(codes: readonly string[], message: string): Refusal['reason'] {
  const says = (some: ReadonlySet<string>): boolean => codes.some((code) => some.has(code));
  // Meta names invalid scopes only in the message.
  if (says(SCOPES_REFUSED) || /\binvalid scopes?\b/i.test(message)) return 'scopes_refused';
  if (says(PERSON_REFUSED)) return 'cancelled';
  return says(UNAVAILABLE) ? 'unavailable' : 'other';
}

type Text = (network: Pick<Network, 'label' | 'platform'>, scopes: string) => string;

/** Explanation and remedy for each reason. */
const REFUSAL_TEXTS: Readonly<Record<Language, Readonly<Record<Refusal['reason'], Text>>>> = {
  en: {
    cancelled: ({ label }) => `Access was denied at ${label}. To retry, connect the profile again and accept.`,
    scopes_refused: ({ label, platform }) =>
      `The app of this server may not ask ${label} for all of its scopes. Its administrator can remove scopes from ` +
      `${platform.toUpperCase()}_SCOPES, or have ${label} approve them.`,
    unavailable: ({ label }) => `${label} does not respond at the moment. Connect the profile again later.`,
    other: ({ label }) =>
      `${label} did not grant access. If that happens again, the administrator of this server has to check how its ` +
      `app is set up at ${label}.`,
    scopes_missing: ({ label }, scopes) =>
      `${label} did not grant ${scopes}. Connect the profile again, and leave everything selected.`,
    no_page: ({ label }) =>
      `No page was granted. Connect the profile again, and select at least one page at ${label}. Pages of a business ` +
      'portfolio also need the scope business_management.',
  },
  it: {
    cancelled: ({ label }) => `L’accesso è stato rifiutato su ${label}. Per riprovare, ricollega il profilo e accetta.`,
    scopes_refused: ({ label, platform }) =>
      `L’app di questo server non può chiedere a ${label} tutte le autorizzazioni impostate. L’amministratore può ` +
      `toglierle da ${platform.toUpperCase()}_SCOPES, oppure farle approvare da ${label}.`,
    unavailable: ({ label }) => `${label} al momento non risponde. Ricollega il profilo più tardi.`,
    other: ({ label }) =>
      `${label} non ha concesso l’accesso. Se succede di nuovo, l’amministratore di questo server deve controllare la ` +
      `configurazione dell’app su ${label}.`,
    scopes_missing: ({ label }, scopes) =>
      `${label} non ha concesso ${scopes}. Ricollega il profilo e lascia tutto selezionato.`,
    no_page: ({ label }) =>
      `Non è stata concessa nessuna pagina. Ricollega il profilo e seleziona almeno una pagina su ${label}. Le pagine di ` +
      'un portfolio business richiedono anche l’autorizzazione business_management.',
  },
  es: {
    cancelled: ({ label }) =>
      `${label} ha rechazado el acceso. Para reintentarlo, conecta el perfil de nuevo y acepta.`,
    scopes_refused: ({ label, platform }) =>
      `La aplicación de este servidor no puede pedir a ${label} todos los permisos configurados. El administrador puede ` +
      `quitarlos de ${platform.toUpperCase()}_SCOPES o hacer que ${label} los apruebe.`,
    unavailable: ({ label }) => `${label} no responde en este momento. Conecta el perfil de nuevo más tarde.`,
    other: ({ label }) =>
      `${label} no ha concedido el acceso. Si vuelve a ocurrir, el administrador de este servidor debe revisar la ` +
      `configuración de la aplicación en ${label}.`,
    scopes_missing: ({ label }, scopes) =>
      `${label} no ha concedido ${scopes}. Conecta el perfil de nuevo y deja todo seleccionado.`,
    no_page: ({ label }) =>
      `No se ha concedido ninguna página. Conecta el perfil de nuevo y selecciona al menos una página en ${label}. Las ` +
      'páginas de una cartera comercial necesitan además el permiso business_management.',
  },
  de: {
    cancelled: ({ label }) =>
      `Der Zugriff wurde bei ${label} abgelehnt. Um es noch einmal zu versuchen, verbinden Sie das Profil erneut und ` +
      'stimmen Sie zu.',
    scopes_refused: ({ label, platform }) =>
      `Die App dieses Servers darf bei ${label} nicht alle ihre Berechtigungen anfragen. Der Administrator kann Berechtigungen ` +
      `aus ${platform.toUpperCase()}_SCOPES entfernen oder von ${label} genehmigen lassen.`,
    unavailable: ({ label }) => `${label} antwortet zurzeit nicht. Verbinden Sie das Profil später noch einmal.`,
    other: ({ label }) =>
      `${label} hat den Zugriff nicht gewährt. Wenn das wieder vorkommt, muss der Administrator dieses Servers prüfen, wie die ` +
      `App bei ${label} eingerichtet ist.`,
    scopes_missing: ({ label }, scopes) =>
      `${label} hat ${scopes} nicht gewährt. Verbinden Sie das Profil erneut, und lassen Sie alles ausgewählt.`,
    no_page: ({ label }) =>
      `Es wurde keine Seite freigegeben. Verbinden Sie das Profil erneut, und wählen Sie bei ${label} mindestens eine Seite aus. ` +
      'Seiten eines Business-Portfolios benötigen außerdem die Berechtigung business_management.',
  },
};

/** Explains what happened and what to do, without the network's message. */
const explain = (network: Network, { reason, scopes }: Refusal, language: Language): string =>
  REFUSAL_TEXTS[language][reason](network, scopes.join(', '));
