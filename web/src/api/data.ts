import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { api, ok } from './send.ts';
import { useSession } from './session.ts';

/** Ways of notifying a user of new messages while the window has no focus, in this browser. */
export type AlertChoice = { readonly desktop: boolean; readonly sound: boolean };

const KEY = 'heliograph-alerts';
const NONE: AlertChoice = { desktop: false, sound: false };

export function readAlertChoice(): AlertChoice {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? 'null');
    if (typeof stored !== 'object' || stored === null) return NONE;
    return { desktop: Reflect.get(stored, 'desktop') === true, sound: Reflect.get(stored, 'sound') === true };
  } catch {
    return NONE;
  }
}

export const writeAlertChoice = (choice: AlertChoice): void => localStorage.setItem(KEY, JSON.stringify(choice));

/** Asks for the permission to show desktop notifications. Resolves with true if it is granted. */
export async function mayNotify(): Promise<boolean> {
  if (!('Notification' in window)) return false;
  return (await Notification.requestPermission()) === 'granted';
}

type Arrived = { readonly title: string; readonly text: string; readonly onOpen: () => void };

/** Notifies the user of a new message as they have chosen. No desktop notification while the window has focus. */
export function alertOf({ title, text, onOpen }: Arrived): void {
  const { desktop, sound } = readAlertChoice();
  if (sound) playTone();
  if (!desktop || document.hasFocus() || !('Notification' in window) || Notification.permission !== 'granted') return;
  const shown = new Notification(title, { body: text, tag: 'heliograph-inbox' });
  shown.addEventListener('click', () => {
    window.focus();
    shown.close();
    onOpen();
  });
}

const TONES_HZ = [880, 1175];
const TONE_SECONDS = 0.12;

/** Plays two short tones. Browsers are silent until the user has clicked on the page once. */
function playTone(): void {
  const audio = new AudioContext();
  TONES_HZ.forEach((frequency, at) => {
    const [tone, volume] = [audio.createOscillator(), audio.createGain()];
    const start = audio.currentTime + at * TONE_SECONDS;
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0.08, start);
    volume.gain.exponentialRampToValueAtTime(0.001, start + TONE_SECONDS);
    tone.connect(volume).connect(audio.destination);
    tone.start(start);
    tone.stop(start + TONE_SECONDS);
    if (at === TONES_HZ.length - 1) tone.addEventListener('ended', () => void audio.close());
  });
}

const REFRESH_MS = 30_000;

const creditQuery = queryOptions({
  queryKey: ['credit'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/subscription/credit', { signal })),
  refetchInterval: REFRESH_MS,
});

/** Shows the available credit from another response wherever it is displayed, so that no two figures differ. */
export const updateCredit = (client: QueryClient, availableCredit: number): unknown =>
  client.setQueryData(creditQuery.queryKey, (known) => known && { ...known, availableCredit });

/**
 * The account's available and reserved credit; undefined for users who may not see amounts. Actions that spend credit
 * refetch `['credit']`.
 */
export function useCredit() {
  const { may } = useSession();
  return useQuery({ ...creditQuery, enabled: may({ scope: 'money' }) });
}

const MAX_PEOPLE = 1000;

/** The users of the account, for filters and names; requires the scope `keys`. */
export const peopleQuery = queryOptions({
  queryKey: ['users', 'all'],
  queryFn: async ({ signal }) =>
    (await ok(api.GET('/api/partner-gateway/v1/users', { params: { query: { limit: MAX_PEOPLE } }, signal }))).data,
  staleTime: 60_000,
});

const PATH = '/api/partner-gateway/v1/inbox/conversations';

/** The number of conversations with unread messages. */
export const unreadQuery = queryOptions({
  queryKey: ['inbox', 'unread'],
  queryFn: async ({ signal }) =>
    (await ok(api.GET(PATH, { params: { query: { unreadOnly: true, limit: 1 } }, signal }))).total,
});

/** The languages of the console and of the program's mails. */
export const LANGUAGES = ['en', 'it', 'es', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

export const isLanguage = (text: string): text is Language => LANGUAGES.some((language) => language === text);

/** The language of a page as the API takes it, for mails and sentences of the server. */
export const toLanguage = (text: string): Language => (isLanguage(text) ? text : 'en');

/** Prefix of the keys of drafts in the browser's storage. */
export const DRAFTS_KEY = 'heliograph-draft:';

/** Forgets all drafts of this browser: others may use it after the user has signed out. */
export function forgetDrafts(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(DRAFTS_KEY)) localStorage.removeItem(key);
}

/** The date in ISO 8601; not every browser's `Date` parses the specification's format. */
export const toIso = (scheduledDate: string): string =>
  scheduledDate.replace(' ', 'T').replace(/([+-]\d{2})(\d{2})$/, '$1:$2');

/** What the account has set for its messages, and the parameters of SMPP that they may have. */
export const sendingQuery = queryOptions({
  queryKey: ['account', 'sending'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/account/sending', { signal })),
});
export type Sending = Awaited<ReturnType<NonNullable<(typeof sendingQuery)['queryFn']>>>;
