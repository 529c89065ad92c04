import type { IncomingHttpHeaders } from 'node:http';
import type { Static, TObject } from 'typebox';
import type { Carrier, Inbound, InboundMedia, Notice, Receipt } from '../channels/carrier.ts';
import { createHttpClient, type HttpClient, parseBaseUrl } from '../channels/http-client.ts';
import type { Poller } from '../channels/http-sms/carrier.ts';
import type { RcsSettings } from '../channels/rcs/settings.ts';
import { createGraphClient, downloadMedia, type GraphClient } from '../channels/whatsapp/client.ts';
import type { WhatsappSecrets, WhatsappSettings } from '../channels/whatsapp/settings.ts';
import type { Channel, RichChannel } from '../core/channels.ts';
import { createGuard, type Guard, guardedLookup } from '../core/outbound.ts';
import { isRecord } from '../core/schema.ts';

/**
 * All that differs between the kinds of connections. Settings are stored as JSON, the secret is sealed as a text;
 * functions that read them throw an Error whose message names the invalid fields.
 */
export type Kind = {
  /** The short name that people read: "SMPP". */
  readonly title: string;
  /** Description of the other end with its article: "an SMPP 3.4 carrier". */
  readonly leadsTo: string;
  readonly channel: Channel;
  /** The settings, in the order in which forms and the command line offer them. */
  readonly settings: readonly SettingField[];
  readonly secret: Secret;
  /**
   * Throws an Error that names the field of the secret which these valid settings need and this secret lacks; null:
   * none.
   */
  readonly checkSecret: ((settings: object, secret: string) => void) | null;
  /** True if its carriers are only dialled at addresses that webhooks may be posted to. */
  readonly isGuarded: boolean;
  /** Validates settings and fills in the defaults. */
  parseSettings(json: unknown): object;
  createCarrier(settings: unknown, secret: string, context: CarrierContext): Carrier;
  /**
   * Returns the messages (SMS: parts) per second over all workers; 0 where there is no limit or the carrier enforces
   * it.
   */
  tpsOf(settings: unknown): number;
  /** Returns the settings for a test: with a single link. */
  forTest(settings: object): object;
  /** Returns the address at which the carrier listens, from stored settings. */
  addressOf(settings: unknown): { readonly host: string; readonly port: number };
  /** Returns the maximum of unanswered messages, and of messages (SMS: parts) per second; 0 where there is no limit. */
  limitsOf(settings: unknown): { readonly window: number; readonly perSecond: number };
  /**
   * Returns the ids of the senders that stored settings name; empty where they are only named when they are assigned.
   */
  senderIdsOf(settings: unknown): readonly string[];
  /**
   * Makes one request that sends nothing, and shows it with the response, secrets hidden; null where there is nothing
   * to show. Never rejects.
   */
  readonly showExchange: ((settings: unknown, secret: string, context: CarrierContext) => Promise<Exchange>) | null;
  /** Further set-up needed at the carrier; null if none. */
  readonly setup: CarrierSetup | null;
  /** Callbacks from the carrier; null if it posts none. */
  readonly callbacks: Callbacks | null;
  /**
   * Returns true if these settings poll for events; cheap, because all connections are asked every few seconds. Missing
   * where all carriers call.
   */
  readonly polls?: (settings: unknown) => boolean;
  /**
   * Opens the poller that fetches events from a carrier that does not call; missing where all call, null for settings
   * that do not poll.
   */
  readonly createPoller?: (settings: unknown, secret: string, context: CarrierContext) => Poller | null;
  /** Opens the source of files in inbound messages, from stored settings and secret; null when there are none. */
  readonly createFileSource: ((settings: unknown, secret: string) => FileSource) | null;
  /**
   * Opens the API that lists, creates and changes the carrier's message templates, from stored settings and secret;
   * null when the carrier has no templates. Templates of connections that have it are synced.
   */
  readonly createTemplateClient: ((settings: unknown, secret: string, timeoutSeconds: number) => GraphClient) | null;
};

/** A request as it would send a message, and the carrier's response to one that sends nothing. */
type Exchange = { readonly request: string; readonly answer: string };

/** Context of a carrier within the program, besides its settings. */
export type CarrierContext = {
  /** The URL that the carrier calls; null when its kind has no callbacks. */
  readonly callbackUrl: string | null;
  /** Decides which addresses may be dialled by kinds whose carriers may be at any address (`isGuarded`). */
  readonly guard: Guard;
};

/** A request that a carrier sent to our callback URL. */
export type CallbackRequest = {
  readonly method: 'GET' | 'POST';
  /** The URL as the carrier called it, with its query. */
  readonly url: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  /** The body as received: signatures cover its bytes. */
  readonly body: Uint8Array;
};

/** A template whose status or quality the network has changed. */
type TemplateChange = {
  /** The network's id of the template. */
  readonly id: string;
  /** Null: unchanged, and so is its reason. */
  readonly status: string | null;
  readonly reason: string | null;
  /** Null: unchanged. */
  readonly quality: string | null;
};

/** A person has unsubscribed from a sender, or only from its marketing, or subscribed again. */
export type Subscription = {
  readonly channel: RichChannel;
  readonly purpose: '*' | 'marketing';
  readonly identity: string;
  /** Digits only, or a user id. */
  readonly phoneNumber: string;
  readonly subscribed: boolean;
  readonly at: Date | null;
};

/** Content of a callback request. */
export type CallbackAnswer =
  /** A verification request with the right token; the response must be this text. */
  | { readonly kind: 'handshake'; readonly text: string }
  /** A verification request without the right token. */
  | { readonly kind: 'refused' }
  /** A request that the carrier did not sign. */
  | { readonly kind: 'forged' }
  /** A signed request in an unknown form. */
  | { readonly kind: 'malformed' }
  | {
      readonly kind: 'events';
      readonly receipts: readonly Receipt[];
      readonly inbounds: readonly Inbound[];
      readonly subscriptions: readonly Subscription[];
      readonly templates: readonly TemplateChange[];
      readonly notices: readonly Notice[];
      /** The messaging limit of the account's portfolio, if it has changed; null: any number of people. */
      readonly messagingLimit?: number | null;
      /** Ignored parts with the reason, for the log. */
      readonly notes: readonly string[];
      /** Parts about any accounts at the carrier, for the connections that have these; missing where there are none. */
      readonly parts?: readonly CallbackPart[];
    };

/** A part of a callback request that any connection of the same application may have to read. */
export type CallbackPart = {
  /** The account at the carrier that it is about; WhatsApp: the id of the business account. */
  readonly owner: string;
  /** The sender that it is about; '' for a change of the whole account, which all of its connections read. */
  readonly sender: string;
  /** True if it is kept for a connection that is being added, when no connection has the account. */
  readonly lasting: boolean;
  readonly content: object;
};

export type CallbackEvents = Extract<CallbackAnswer, { kind: 'events' }>;

/** Reads a callback request. Pure: it stores nothing. */
export type ReadCallback = (request: CallbackRequest) => CallbackAnswer;

/**
 * An application at the carrier whose callback URL several connections share: the parts of a request are read by the
 * connections of the same `app` that have the account, whichever of them receives it.
 */
export type SharedCallbacks = {
  /** Identifies the application, without its secret. */
  readonly app: string;
  /** The account at the carrier that this connection has, and its senders there. */
  readonly owner: string;
  readonly senders: readonly string[];
  /** Reads parts about this account and its senders. */
  readParts(parts: readonly CallbackPart[]): CallbackEvents;
};

/** The requests that a carrier sends to our callback URL, `/api/callbacks/<kind>/<name of the connection>`. */
export type Callbacks = {
  /**
   * The OpenAPI text of the GET request that verifies the URL, or reports like a POST; null when the carrier only
   * posts.
   */
  readonly verification: { readonly summary: string; readonly description: string } | null;
  /** The header with the signature of a posted body, in lower case; null where it depends on the settings. */
  readonly signatureHeader: string | null;
  /** Maximum size of a signed body. */
  readonly maxBodyBytes: number;
  /** Maximum size of a body without a signature: larger than 0 where the carrier verifies the URL by such a request. */
  readonly maxUnsignedBytes: number;
  createReader(settings: unknown, secret: string): ReadCallback;
  /** Tells what the connection shares with others; missing where each has its own callback URL at the carrier. */
  readonly sharedBy?: (settings: unknown, secret: string) => SharedCallbacks;
};

/**
 * A file of an inbound message, or the reason why it could not be fetched; `retry` is true when a later attempt may
 * succeed.
 */
export type FetchedFile =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly retry: boolean; readonly reason: string };

/** Source of the files of inbound messages. */
export type FileSource = {
  /** Fetches a file of up to `maxBytes`; never rejects. */
  fetch(media: InboundMedia, maxBytes: number): Promise<FetchedFile>;
  close(): Promise<void>;
};

const CONNECT_MS = 10_000;
const FETCH_MS = 60_000;

const lost = (reason: string): FetchedFile => ({ ok: false, retry: false, reason });

/** Fetches files by their id, with the access token of the connection (Cloud API, media). */
export function whatsappFiles(settings: WhatsappSettings, secrets: WhatsappSecrets): FileSource {
  const client = createGraphClient(settings, secrets);
  return {
    async fetch({ id }, maxBytes) {
      if (id === null) return lost('the callback contains no file id');
      const answer = await downloadMedia(client, { id, maxBytes });
      if (answer.ok) return { ok: true, bytes: answer.value.bytes };
      return { ok: false, retry: answer.fault.retry, reason: answer.fault.text };
    },
    close: () => client.close(),
  };
}

const guard = createGuard({ allowedBlocks: [], ports: [443] });

/**
 * Fetches files by the URL in the callback (RBM API, agentMessages): from the network's own host, or over HTTPS from a
 * public address. The callback is signed, but the URL in it may come from the person's handset.
 */
export function rcsFiles({ baseUrl }: RcsSettings): FileSource {
  const options = { connections: 4, connectTimeoutMs: CONNECT_MS, timeoutMs: FETCH_MS };
  const [own, others] = [createHttpClient(options), createHttpClient({ ...options, lookup: guardedLookup(guard) })];
  return {
    async fetch({ url }, maxBytes) {
      const target = URL.parse(url ?? '');
      if (!target) return lost('the callback contains no valid URL');
      if (target.origin === parseBaseUrl('baseUrl', baseUrl).origin) return get(own, target, maxBytes);
      if (target.protocol !== 'https:' || target.port !== '') return lost('the URL is not allowed');
      // The guarded lookup of the client is not called for IP addresses, only for names: check both here.
      const refused = await guard.resolveAllowed(target.hostname.replace(/^\[|\]$/g, '')).then(
        () => null,
        (error: Error) => error.message,
      );
      return refused === null ? get(others, target, maxBytes) : { ok: false, retry: true, reason: refused };
    },
    async close() {
      await Promise.all([own.close(), others.close()]);
    },
  };
}

async function get(client: HttpClient, { origin, pathname, search }: URL, maxBytes: number): Promise<FetchedFile> {
  const answer = await client.request({ method: 'GET', origin, path: `${pathname}${search}`, headers: {}, maxBytes });
  if (answer.kind === 'failed') return { ok: false, retry: answer.tooLarge !== true, reason: answer.reason };
  if (answer.status === 200) return { ok: true, bytes: answer.body };
  return { ok: false, retry: answer.status >= 500 || answer.status === 429, reason: `returned ${answer.status}` };
}

export type SecretFields = Readonly<Record<string, unknown>>;

/** One field of the secret, for forms and the command line. */
export type SecretField = {
  readonly name: string;
  /** A full sentence. */
  readonly description: string;
  /** `json`: a JSON object, such as a key file, whose members are stored next to the other fields. */
  readonly type: 'text' | 'json';
  /** True if we choose it and the operator gives it to the carrier: a random one is made if omitted. */
  readonly generated: boolean;
  /** True if some connections have none. */
  readonly optional?: boolean;
};

/** Input, storage and change of the secret of a kind. */
export type Secret = {
  readonly fields: readonly SecretField[];
  /** Validates the fields and returns the text that is sealed. Throws an Error that names the invalid fields. */
  toText(fields: SecretFields): string;
  /** Returns the fields of a text that `toText` made. */
  toFields(text: string): SecretFields;
};

/** Creates a secret that is stored as JSON; `parse` validates its fields. */
export const jsonSecret = (fields: readonly SecretField[], parse: (json: unknown) => object): Secret => ({
  fields,
  toText: (given) => JSON.stringify(parse(given)),
  toFields: (text) => ({ ...JSON.parse(text) }),
});

/** Returns the fields with each `json` field replaced by its members. */
export function flattenSecret({ fields }: Secret, given: SecretFields): SecretFields {
  const files = fields.filter(({ type, name }) => type === 'json' && isRecord(given[name])).map(({ name }) => name);
  const rest = Object.entries(given).filter(([name]) => !files.includes(name));
  return Object.assign({}, ...files.map((name) => given[name]), Object.fromEntries(rest));
}

const GROUPS = ['access', 'main', 'more'] as const;

/** A setting of a kind, for forms, the command line and docs/carriers.md. */
export type SettingField = {
  readonly name: string;
  /** `choice`: one of `options`; `list`: several texts; `object`: a JSON object, which forms omit. */
  readonly type: 'text' | 'number' | 'boolean' | 'choice' | 'list' | 'object';
  /** `access`: needed to connect; `main`: agreed with most carriers; `more`: needed by few. */
  readonly group: (typeof GROUPS)[number];
  /** One or two full sentences; `` `x` `` names another setting or a value. */
  readonly description: string;
  readonly required: boolean;
  /** The value if omitted; null when there is none. */
  readonly default: unknown;
  /** The values of a `choice`; empty otherwise. */
  readonly options: readonly (string | number)[];
  readonly minimum: number | null;
  readonly maximum: number | null;
  /** Limit in characters. */
  readonly maxLength: number | null;
};

type Groups<Schema extends TObject> = {
  readonly access?: readonly (keyof Static<Schema> & string)[];
  readonly main?: readonly (keyof Static<Schema> & string)[];
};

/**
 * Lists the settings of a schema by group: those of `access` and `main` in the given order, which also get separate
 * options on the command line, then the others. A required setting without a default is always in `access`.
 */
export function settingFields<Schema extends TObject>(
  schema: Schema,
  { access = [], main = [] }: Groups<Schema>,
): SettingField[] {
  const { properties, required = [] }: JsonSchema = JSON.parse(JSON.stringify(schema));
  const groupOf = (name: string, isRequired: boolean): SettingField['group'] => {
    if (main.some((each) => each === name)) return 'main';
    return isRequired || access.some((each) => each === name) ? 'access' : 'more';
  };
  const names = new Set<string>([...access, ...main, ...Object.keys(properties ?? {})]);
  const fields = [...names].map((name) => {
    const property = properties?.[name] ?? {};
    const isRequired = required.includes(name) && property.default === undefined;
    return toField(name, property, { group: groupOf(name, isRequired), required: isRequired });
  });
  return GROUPS.flatMap((group) => fields.filter((field) => field.group === group));
}

type JsonSchema = {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly (string | number)[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
};

const toField = (name: string, schema: JsonSchema, place: Pick<SettingField, 'group' | 'required'>): SettingField => ({
  name,
  type: typeOf(schema),
  ...place,
  description: schema.description ?? '',
  default: defaultOf(schema),
  options: schema.enum ?? [],
  minimum: schema.minimum ?? null,
  maximum: schema.maximum ?? null,
  maxLength: schema.maxLength ?? null,
});

function typeOf({ type, enum: options }: JsonSchema): SettingField['type'] {
  if (options) return 'choice';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'array') return 'list';
  return type === 'boolean' || type === 'object' ? type : 'text';
}

/** Returns the default; for an object with a default it is made of those of its properties. */
function defaultOf({ default: fallback, properties }: JsonSchema): unknown {
  if (!properties || fallback === undefined) return fallback ?? null;
  return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, defaultOf(property)]));
}

/** One requirement at the carrier, besides the connection itself. */
export type SetupStep = {
  readonly name: 'subscribe' | 'register';
  /** Also false if the carrier did not state it. */
  readonly ok: boolean;
  /** Full sentences: the current state, or the missing item and the command that fixes it. */
  readonly detail: string;
};

export type OpenConnection = { readonly name: string; readonly settings: unknown; readonly secret: string };

/** Without a PIN, numbers that are not registered stay so. `callbackUrl`: as in `CarrierContext`. */
type SetupOptions = Pick<CarrierContext, 'callbackUrl'> & { readonly pin: string | null };

/** Set-up at a carrier that its connection needs to work fully. Neither function rejects. */
export type CarrierSetup = {
  /** Checks the set-up, and changes nothing. */
  check(connection: OpenConnection): Promise<SetupStep[]>;
  /** Sets up missing items. */
  complete(connection: OpenConnection, options: SetupOptions): Promise<SetupStep[]>;
};

/** Returns host and port of an http:// or https:// URL. */
export function addressOfUrl(url: string): { host: string; port: number } {
  const { hostname, port, protocol } = new URL(url);
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? defaultPort : Number(port) };
}
