import { unparked } from '../../network/dispatch/parked/sql.ts';
import { type Sql, sql } from '../../platform/db/query.ts';

/** How the rows of an account in one table are found and read. */
export type OwnRows = {
  /** The condition for them; by default that `account_id` is the account. */
  readonly where?: (accountId: number) => Sql;
  /** SQL expressions in place of columns, by column. */
  readonly values?: Readonly<Record<string, Sql>>;
  /** Columns that the target sets itself. */
  readonly renewed?: readonly string[];
  /** The order in which rows are written, where it matters. */
  readonly order?: string;
  /** There may be many: they are copied while the account is served, and what has changed since while it is held. */
  readonly ahead?: true;
};

const NOBODY = sql`NULL::bigint`;

const ownedBy = (accountId: number): Sql => sql`owner_id = ${accountId}`;

/**
 * The rows that are copied, and that stay behind as they are: in an order in which no row refers to a later table. Rows that
 * are copied ahead refer to no other table, and none to them.
 */
export const COPIED: Readonly<Record<string, OwnRows>> = {
  account: { where: (accountId) => sql`id = ${accountId}` },
  app_user: {},
  api_key: {},
  api_key_value: {},
  smpp_credential: {},
  login_network: {
    where: (accountId) => sql`user_id IN (SELECT id FROM app_user WHERE account_id = ${accountId})`,
  },
  user_session: { values: { acting_account_id: NOBODY } },
  invitation: {},
  password_reset: {},
  pending_sign_in: {},
  totp_factor: {},
  passkey: {},
  recovery_code: {},
  single_sign_on: {},
  single_sign_on_claim: {},
  single_sign_on_domain: {},
  single_sign_on_user: {},
  sender: { where: ownedBy },
  template: { where: ownedBy },
  registered_sender: { where: ownedBy },
  number_pool: { where: ownedBy },
  number_pool_number: {
    where: (accountId) => sql`pool_id IN (SELECT id FROM number_pool WHERE owner_id = ${accountId})`,
  },
  sticky_sender: { ahead: true },
  inbound_number: {},
  webhook_endpoint: {},
  credit_balance: {},
  credit_frozen: {},
  ledger_entry: { ahead: true },
  message: { ahead: true },
  message_state: { ahead: true },
  message_part: { ahead: true },
  message_event: { ahead: true },
  nameless_submit: {},
  unknown_outcome: {},
  client_message_id: { ahead: true },
  bulk_request: { ahead: true },
  idempotency_key: { ahead: true },
  webhook_delivery: { ahead: true },
  inbound_message: { ahead: true },
  keyword_rule: {},
  inbox: {},
  inbox_count: {},
  inbox_event: { ahead: true },
  inbox_message: { ahead: true },
  conversation: { ahead: true },
  inbox_note: { ahead: true },
  inbox_label: {},
  conversation_label: { ahead: true },
  canned_answer: {},
  inbox_settings: {},
  inbox_agent: {},
  opt_out: { ahead: true },
  media: {},
  media_copy: {},
  contact_book: {},
  custom_field: {},
  contact: { ahead: true },
  contact_activity: { ahead: true },
  contact_list: {},
  contact_list_member: { ahead: true },
  contact_import: {},
  contact_import_chunk: {},
  contact_import_reject: { ahead: true },
  campaign_policy: {},
  campaign: {},
  campaign_draft: {},
  campaign_run: {},
  campaign_lane: {},
  campaign_recipient: { ahead: true },
  campaign_batch: {},
  campaign_hop: { ahead: true },
  export: {},
  campaign_minute: {},
  traffic_hour: {},
  traffic_day: {},
  margin_day: {},
  audit_entry: { ahead: true },
};

/** The tables whose rows are copied ahead. */
export const AHEAD = Object.entries(COPIED).filter(([, { ahead }]) => ahead);

/**
 * Work in progress: it leaves the source in the transaction that ends the account there, and the target begins it only
 * after that transaction. What numbers it within the target is given there.
 */
export const CARRIED: Readonly<Record<string, OwnRows>> = {
  dispatch_chunk: { renewed: ['round'], order: 'priority, round, id', values: unparked(sql`gone`) },
  lost_chunk: {},
  message_deadline: {},
  message_fallback: {},
  simulated_outcome: {},
  campaign_job: {},
  campaign_outcome: { order: 'id' },
  contact_import_job: {},
  export_job: { values: { owner: NOBODY } },
  // Before the outbox: what waits for another attempt is older than what was never tried.
  webhook_retry: { renewed: ['seq'], order: 'seq' },
  webhook_outbox: { renewed: ['id'], order: 'id' },
  smpp_receipt: {},
  smpp_replacement: {},
  smpp_outbox: { renewed: ['id'], order: 'id', values: { owner: NOBODY } },
  keyword_action: {},
  inbox_media: {},
  inbox_watch: {},
  inbox_auto_answer: {},
  outgoing_mail: {},
  social_profile: {},
};

/** Must say the same in both cells, apart from ids; or says something about the cell itself. */
export const SHARED: Readonly<Record<string, string>> = {
  connection: 'matched by name and kind',
  connection_cost: 'what carriers charge this cell',
  route: 'compared',
  conditional_route: 'compared',
  route_policy: 'how this cell orders routes',
  lookup_service: 'what this cell asks for the networks of numbers',
  sender_rule: 'what carriers and countries allow this cell',
  price: 'compared',
  alert_rule: 'what operators of this cell decided',
  alert_target: 'whom operators of this cell tell',
  cell: 'says which cell it is',
};

/** Rows that stay where they are, with the reason. */
export const LEFT_BEHIND: Readonly<Record<string, string>> = {
  alert: 'about this cell',
  alert_evaluation: 'about this cell',
  alert_notice: 'about this cell',
  account_change: 'about a copy in progress',
  account_move: 'says that the account is away',
  account_parcel: 'what arrived and was begun',
  passed_on: 'goes to the cell of its account by itself',
  passed_on_seen: 'says what this cell has taken',
  contact_upload: 'a file that was sent and not imported is sent again',
  contact_upload_part: 'a file that was sent and not imported is sent again',
  connection_down: 'about a connection of the cell',
  connection_error: 'about a connection of the cell',
  connection_minute: 'about a connection of the cell',
  connection_notice: 'about a connection of the cell',
  connection_poll: 'about a connection of the cell',
  connection_status: 'about a connection of the cell',
  connection_quality: 'about a connection of the cell',
  lookup_budget: 'what this cell pays for',
  lookup_day: 'what this cell has paid for look-ups',
  number_network: 'asked for again',
  quality_sample: 'tells about a connection of the cell',
  route_standing: 'about a connection of the cell',
  expiry_progress: 'the target checks again from the earlier of the two instants',
  fence: 'about the database',
  fence_machine: 'about the machines of the cell',
  file_removal: 'files are removed where they are',
  inbound_part: 'joined here, and then passed on',
  keyword_count: 'begins again with the next hour',
  mail_budget: 'begins again at the target',
  inbound_seen: 'what this cell has taken from its carriers',
  passkey_challenge: 'ends within minutes',
  smpp_bind: 'closed here, and opened again at the target',
  password_reset_request: 'worked off within seconds, or asked for again',
  receipt_batch: 'settled here, or passed on',
  receipt_unmatched: 'tried again here, and passed on when they match',
  schema_migration: 'compared',
  single_sign_on_state: 'a sign-in in progress begins again',
  social_state: 'a connection in progress begins again',
  webhook_claim: 'which worker delivers',
  worker_process: 'about the workers of the cell',
};
