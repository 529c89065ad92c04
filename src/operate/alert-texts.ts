import type { Language } from '../core/mail.ts';
import type { Alert } from './alert-store.ts';
import type { AttentionKind, Severity } from './attention.ts';

/** Facts for a sentence about an alert. */
export type Facts = Pick<Alert, 'subject' | 'count' | 'accounts' | 'compared'>;

type Sentence = (facts: Facts & { readonly n: Numbers }) => string;
/** Writes numbers, with the right form of the word behind them. */
type Numbers = {
  readonly count: (one: string, other: string) => string;
  readonly accounts: (one: string, other: string) => string;
};

type Texts = {
  readonly kinds: Readonly<Record<AttentionKind, Sentence>>;
  readonly severity: Readonly<Record<Severity, string>>;
  readonly resolved: string;
  readonly reminder: string;
  readonly lasted: (duration: string) => string;
  readonly units: readonly [minutes: string, hours: string, days: string];
  readonly several: (count: number) => string;
  readonly more: (count: number) => string;
  readonly see: string;
  readonly test: string;
};

const EN: Texts['kinds'] = {
  sending_paused: () => 'Sending is paused for all accounts',
  no_worker: () => 'No worker is running: messages are queued, but not sent',
  worker_missing: ({ n }) => `${n.count('worker has', 'workers have')} stopped unexpectedly`,
  connection_down: (f) => `${f.subject} is down${waitingEn(f)}`,
  connection_fault: (f) => `The carrier of ${f.subject} rejects the connection${waitingEn(f)}`,
  connection_paused: (f) => `${f.subject} is paused${waitingEn(f)}`,
  queue_stuck: (f) => `Messages for ${f.subject} wait too long${waitingEn(f)}`,
  delivery_falling: ({ subject, count, compared }) =>
    `${subject} delivers ${count} % of its messages; it was ${compared} % in the week before`,
  unknown_outcomes: ({ n }) => `${n.count('message', 'messages')}: the carrier never confirmed`,
  receipts_unmatched: ({ n }) => `${n.count('receipt matches', 'receipts match')} no message`,
  callbacks_unclaimed: ({ n }) => `${n.count('callback is', 'callbacks are')} about an account that no connection has`,
  missed_schedules: ({ n }) => `${n.count('scheduled send was', 'scheduled sends were')} missed`,
  lookups_used_up: () => 'The paid look-ups of today are used up: messages are routed without the network',
  low_credit: ({ subject }) => `${subject} is running out of credit`,
  webhook_failing: ({ subject }) => `The webhook of ${subject} is failing`,
  webhook_disabled: ({ subject }) => `The webhook of ${subject} is disabled`,
  verify_range_paused: ({ subject, n }) => `${n.count('range', 'ranges')} of numbers paused for codes of ${subject}`,
  verify_cost_cap: ({ subject }) => `Codes of ${subject} have reached their cost cap`,
  verify_conversion_drop: ({ subject, count, compared }) =>
    `${count} % of the codes of ${subject} to a country are entered; ${compared} % are usual`,
  wishes_undecided: ({ subject, n }) =>
    `${n.count('wish', 'wishes')} for no more messages of ${subject} undecided for days`,
  disk_low: ({ subject, n }) => `${n.count('MiB', 'MiB')} of disk left on ${subject}`,
  certificate_expiring: ({ subject, n }) => `The TLS certificate of ${subject} expires in ${n.count('day', 'days')}`,
  token_expiring: ({ subject, compared, n }) =>
    `${n.count('credential', 'credentials')} of ${subject} will expire, the first in ${compared} days`,
  billing_differs: ({ subject, n, compared }) =>
    `${n.count('message', 'messages')} of ${compared} (${subject}) charged otherwise than by the network`,
  sold_under_cost: ({ subject, n }) => `${n.count('route', 'routes')} over ${subject} priced below cost`,
  agents_requested: ({ n }) => `${n.count('RCS agent waits', 'RCS agents wait')} to be registered`,
};

const waitingEn = ({ count, n }: Facts & { n: Numbers }): string =>
  count === null || count === 0
    ? ''
    : `; ${n.count('message', 'messages')} of ${n.accounts('account', 'accounts')} waiting`;

const IT: Texts['kinds'] = {
  sending_paused: () => 'L’invio è in pausa per tutti gli account',
  no_worker: () => 'Nessun worker è attivo: i messaggi sono in coda ma non vengono inviati',
  worker_missing: ({ n }) => `${n.count('worker si è fermato', 'worker si sono fermati')} in modo imprevisto`,
  connection_down: (f) => `${f.subject} è interrotta${waitingIt(f)}`,
  connection_fault: (f) => `Il carrier di ${f.subject} rifiuta la connessione${waitingIt(f)}`,
  connection_paused: (f) => `${f.subject} è in pausa${waitingIt(f)}`,
  queue_stuck: (f) => `I messaggi per ${f.subject} attendono troppo a lungo${waitingIt(f)}`,
  delivery_falling: ({ subject, count, compared }) =>
    `${subject} consegna il ${count} % dei messaggi; nella settimana precedente era il ${compared} %`,
  unknown_outcomes: ({ n }) => `${n.count('messaggio', 'messaggi')} mai confermati dal carrier`,
  receipts_unmatched: ({ n }) => `${n.count('ricevuta', 'ricevute')} senza messaggio`,
  callbacks_unclaimed: ({ n }) => `${n.count('callback', 'callback')} su un account che nessuna connessione ha`,
  missed_schedules: ({ n }) => `${n.count('invio programmato saltato', 'invii programmati saltati')}`,
  lookups_used_up: () =>
    'Le interrogazioni a pagamento di oggi sono esaurite: i messaggi sono instradati senza la rete',
  low_credit: ({ subject }) => `${subject} sta esaurendo il credito`,
  webhook_failing: ({ subject }) => `Il webhook di ${subject} non risponde`,
  webhook_disabled: ({ subject }) => `Il webhook di ${subject} è disattivato`,
  verify_range_paused: ({ subject, n }) =>
    `${n.count('intervallo', 'intervalli')} di numeri in pausa per i codici di ${subject}`,
  verify_cost_cap: ({ subject }) => `I codici di ${subject} hanno raggiunto il limite di costo`,
  verify_conversion_drop: ({ subject, count, compared }) =>
    `In un paese viene inserito il ${count} % dei codici di ${subject}; di solito il ${compared} %`,
  wishes_undecided: ({ subject, n }) =>
    `${n.count('richiesta', 'richieste')} di non ricevere messaggi da ${subject} senza decisione da giorni`,
  disk_low: ({ subject, n }) => `${n.count('MiB', 'MiB')} di disco liberi su ${subject}`,
  certificate_expiring: ({ subject, n }) => `Il certificato TLS di ${subject} scade tra ${n.count('giorno', 'giorni')}`,
  token_expiring: ({ subject, compared, n }) =>
    `${n.count('credenziale', 'credenziali')} di ${subject} in scadenza, la prima tra ${compared} giorni`,
  billing_differs: ({ subject, n, compared }) =>
    `${n.count('messaggio', 'messaggi')} su ${compared} (${subject}) con un addebito diverso da quello della rete`,
  sold_under_cost: ({ subject, n }) => `${n.count('rotta', 'rotte')} su ${subject} in vendita sotto costo`,
  agents_requested: ({ n }) => `${n.count('agente RCS', 'agenti RCS')} da registrare`,
};

const waitingIt = ({ count, n }: Facts & { n: Numbers }): string =>
  count === null || count === 0
    ? ''
    : `; in attesa ${n.count('messaggio', 'messaggi')} di ${n.accounts('account', 'account')}`;

const ES: Texts['kinds'] = {
  sending_paused: () => 'El envío está en pausa para todas las cuentas',
  no_worker: () => 'No hay ningún worker en marcha: los mensajes quedan en cola, pero no se envían',
  worker_missing: ({ n }) => `${n.count('worker se ha detenido', 'workers se han detenido')} de forma inesperada`,
  connection_down: (f) => `${f.subject} está caída${waitingEs(f)}`,
  connection_fault: (f) => `La operadora de ${f.subject} rechaza la conexión${waitingEs(f)}`,
  connection_paused: (f) => `${f.subject} está en pausa${waitingEs(f)}`,
  queue_stuck: (f) => `Los mensajes para ${f.subject} esperan demasiado${waitingEs(f)}`,
  delivery_falling: ({ subject, count, compared }) =>
    `${subject} entrega el ${count} % de sus mensajes; la semana anterior era el ${compared} %`,
  unknown_outcomes: ({ n }) => `${n.count('mensaje', 'mensajes')} sin confirmación de la operadora`,
  receipts_unmatched: ({ n }) => `${n.count('confirmación', 'confirmaciones')} sin mensaje`,
  callbacks_unclaimed: ({ n }) => `${n.count('callback', 'callbacks')} sobre una cuenta que ninguna conexión tiene`,
  missed_schedules: ({ n }) => `${n.count('envío programado no se hizo', 'envíos programados no se hicieron')}`,
  lookups_used_up: () => 'Las consultas de pago de hoy se han agotado: los mensajes se enrutan sin la red',
  low_credit: ({ subject }) => `${subject} se está quedando sin saldo`,
  webhook_failing: ({ subject }) => `El webhook de ${subject} falla`,
  webhook_disabled: ({ subject }) => `El webhook de ${subject} está desactivado`,
  verify_range_paused: ({ subject, n }) =>
    `${n.count('rango', 'rangos')} de números en pausa para los códigos de ${subject}`,
  verify_cost_cap: ({ subject }) => `Los códigos de ${subject} han llegado a su límite de coste`,
  verify_conversion_drop: ({ subject, count, compared }) =>
    `En un país se introduce el ${count} % de los códigos de ${subject}; lo habitual es el ${compared} %`,
  wishes_undecided: ({ subject, n }) =>
    `${n.count('petición', 'peticiones')} de no recibir mensajes de ${subject} sin decidir desde hace días`,
  disk_low: ({ subject, n }) => `Quedan ${n.count('MiB', 'MiB')} de disco en ${subject}`,
  certificate_expiring: ({ subject, n }) => `El certificado TLS de ${subject} caduca en ${n.count('día', 'días')}`,
  token_expiring: ({ subject, compared, n }) =>
    `${n.count('credencial', 'credenciales')} de ${subject} por caducar, la primera en ${compared} días`,
  billing_differs: ({ subject, n, compared }) =>
    `${n.count('mensaje', 'mensajes')} de ${compared} (${subject}) con un cargo distinto del de la red`,
  sold_under_cost: ({ subject, n }) => `${n.count('ruta', 'rutas')} por ${subject} a la venta por debajo del coste`,
  agents_requested: ({ n }) => `${n.count('agente RCS', 'agentes RCS')} por registrar`,
};

const waitingEs = ({ count, n }: Facts & { n: Numbers }): string =>
  count === null || count === 0
    ? ''
    : `; en espera ${n.count('mensaje', 'mensajes')} de ${n.accounts('cuenta', 'cuentas')}`;

const DE: Texts['kinds'] = {
  sending_paused: () => 'Das Senden ist für alle Konten angehalten',
  no_worker: () => 'Kein Worker läuft: Nachrichten werden eingereiht, aber nicht gesendet',
  worker_missing: ({ n }) => `${n.count('Worker hat', 'Worker haben')} unerwartet aufgehört`,
  connection_down: (f) => `${f.subject} ist unterbrochen${waitingDe(f)}`,
  connection_fault: (f) => `Der Carrier von ${f.subject} lehnt die Verbindung ab${waitingDe(f)}`,
  connection_paused: (f) => `${f.subject} ist angehalten${waitingDe(f)}`,
  queue_stuck: (f) => `Nachrichten für ${f.subject} warten zu lange${waitingDe(f)}`,
  delivery_falling: ({ subject, count, compared }) =>
    `${subject} stellt ${count} % seiner Nachrichten zu; in der Woche davor waren es ${compared} %`,
  unknown_outcomes: ({ n }) => `${n.count('Nachricht', 'Nachrichten')} ohne Bestätigung des Carriers`,
  receipts_unmatched: ({ n }) => `${n.count('Zustellbestätigung', 'Zustellbestätigungen')} ohne Nachricht`,
  callbacks_unclaimed: ({ n }) =>
    `${n.count('Callback betrifft', 'Callbacks betreffen')} ein Konto, das keine Verbindung hat`,
  missed_schedules: ({ n }) => `${n.count('geplanter Versand wurde', 'geplante Sendungen wurden')} versäumt`,
  lookups_used_up: () =>
    'Die bezahlten Abfragen von heute sind aufgebraucht: Nachrichten werden ohne das Netz geroutet',
  low_credit: ({ subject }) => `Das Guthaben von ${subject} geht zu Ende`,
  webhook_failing: ({ subject }) => `Der Webhook von ${subject} schlägt fehl`,
  webhook_disabled: ({ subject }) => `Der Webhook von ${subject} ist deaktiviert`,
  verify_range_paused: ({ subject, n }) =>
    `${n.count('Nummernbereich', 'Nummernbereiche')} für Codes von ${subject} pausiert`,
  verify_cost_cap: ({ subject }) => `Codes von ${subject} haben ihre Kostengrenze erreicht`,
  verify_conversion_drop: ({ subject, count, compared }) =>
    `In einem Land werden ${count} % der Codes von ${subject} eingegeben; üblich sind ${compared} %`,
  wishes_undecided: ({ subject, n }) =>
    `${n.count('Wunsch', 'Wünsche')} nach keinen weiteren Nachrichten von ${subject} seit Tagen unentschieden`,
  disk_low: ({ subject, n }) => `Noch ${n.count('MiB', 'MiB')} Speicherplatz auf ${subject}`,
  certificate_expiring: ({ subject, n }) => `Das TLS-Zertifikat von ${subject} läuft in ${n.count('Tag', 'Tagen')} ab`,
  token_expiring: ({ subject, compared, n }) =>
    `${n.count('Zugang', 'Zugänge')} von ${subject} laufen ab, der erste in ${compared} Tagen`,
  billing_differs: ({ subject, n, compared }) =>
    `${n.count('Nachricht', 'Nachrichten')} von ${compared} (${subject}) anders berechnet als vom Netz`,
  sold_under_cost: ({ subject, n }) => `${n.count('Route', 'Routen')} über ${subject} unter Einkaufspreis`,
  agents_requested: ({ n }) => `${n.count('RCS-Agent wartet', 'RCS-Agenten warten')} auf die Registrierung`,
};

const waitingDe = ({ count, n }: Facts & { n: Numbers }): string =>
  count === null || count === 0
    ? ''
    : `; es warten ${n.count('Nachricht', 'Nachrichten')} von ${n.accounts('Konto', 'Konten')}`;

const TEXTS: Readonly<Record<Language, Texts>> = {
  en: {
    kinds: EN,
    severity: { error: 'Problem', warning: 'Warning', info: 'Note' },
    resolved: 'Resolved',
    reminder: 'Still open',
    lasted: (duration) => `lasted ${duration}`,
    units: ['min', 'h', 'd'],
    several: (count) => `${count} alerts`,
    more: (count) => `… and ${count} more`,
    see: 'All alerts',
    test: 'This is a test: alerts arrive here.',
  },
  it: {
    kinds: IT,
    severity: { error: 'Problema', warning: 'Avviso', info: 'Nota' },
    resolved: 'Risolto',
    reminder: 'Ancora aperto',
    lasted: (duration) => `durata ${duration}`,
    units: ['min', 'h', 'g'],
    several: (count) => `${count} avvisi`,
    more: (count) => `… e altri ${count}`,
    see: 'Tutti gli avvisi',
    test: 'Questo è un test: gli avvisi arrivano qui.',
  },
  es: {
    kinds: ES,
    severity: { error: 'Problema', warning: 'Aviso', info: 'Nota' },
    resolved: 'Resuelto',
    reminder: 'Sigue abierto',
    lasted: (duration) => `duró ${duration}`,
    units: ['min', 'h', 'd'],
    several: (count) => `${count} avisos`,
    more: (count) => `… y ${count} más`,
    see: 'Todos los avisos',
    test: 'Esto es una prueba: los avisos llegan aquí.',
  },
  de: {
    kinds: DE,
    severity: { error: 'Problem', warning: 'Warnung', info: 'Hinweis' },
    resolved: 'Behoben',
    reminder: 'Noch offen',
    lasted: (duration) => `dauerte ${duration}`,
    units: ['min', 'h', 'd'],
    several: (count) => `${count} Alarme`,
    more: (count) => `… und ${count} weitere`,
    see: 'Alle Alarme',
    test: 'Das ist ein Test: Alarme kommen hier an.',
  },
};

/** Returns the texts of a language around the sentences. */
export const textsOf = (language: Language): Omit<Texts, 'kinds'> => TEXTS[language];

/** Describes an alert in one sentence without a full stop. */
export function sentenceOf(language: Language, kind: AttentionKind, facts: Facts): string {
  const format = new Intl.NumberFormat(language);
  const numbered = (value: number | null) => (one: string, other: string) =>
    `${format.format(value ?? 0)} ${value === 1 ? one : other}`;
  return TEXTS[language].kinds[kind]({
    ...facts,
    n: { count: numbered(facts.count), accounts: numbered(facts.accounts) },
  });
}

/** Writes a duration in its largest unit. */
export function durationOf(language: Language, ms: number): string {
  const [minutes, hours, days] = TEXTS[language].units;
  const total = Math.max(1, Math.round(ms / 60_000));
  if (total < 120) return `${total} ${minutes}`;
  return total < 2880 ? `${Math.round(total / 60)} ${hours}` : `${Math.round(total / 1440)} ${days}`;
}
