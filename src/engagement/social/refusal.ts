import type { Language } from '../../identity/mail-text.ts';
import type { Network } from './networks/network.ts';
import { toWords } from './networks/web.ts';

/** The reason why a network, or the person there, did not grant the access needed. */
export type Refusal = {
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
  /** The missing scopes. */
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
export function refusalIn(parameters: URLSearchParams): Refusal | null {
  if (!PARAMETERS.some((name) => parameters.has(name))) return null;
  const textOf = (name: (typeof PARAMETERS)[number]): string => parameters.get(name) ?? '';
  const codes = [textOf('error'), textOf('error_reason'), textOf('error_code')].filter((code) => code !== '');
  const message = textOf('error_description') || textOf('error_message');
  return { reason: reasonOf(codes, message), words: toWords(message, codes.join(', ')), scopes: [] };
}

/** The parameters of an error response as they are logged: bounded, and without anything that looks like a token. */
export const loggedParameters = (parameters: URLSearchParams): Readonly<Record<string, string>> =>
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
const TEXTS: Readonly<Record<Language, Readonly<Record<Refusal['reason'], Text>>>> = {
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
export const explain = (network: Network, { reason, scopes }: Refusal, language: Language): string =>
  TEXTS[language][reason](network, scopes.join(', '));
