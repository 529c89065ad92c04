/** The smallest and the largest that was measured. */
export type Range = readonly [low: number, high: number];

/** What one message costs: CPU time in microseconds of one core, octets written to the log of PostgreSQL and kept on disk. */
export type Cost = {
  readonly gatewayMicros: Range;
  readonly postgresMicros: Range;
  readonly walOctets: Range;
  /** With indexes. Queues are not in it: what one message leaves there, the next one fills. */
  readonly diskOctets: Range;
  /** Of `diskOctets`: indexes, which have to be in memory on the day of the message and the next. */
  readonly indexOctets: number;
  /** Where it was measured. */
  readonly source: string;
};

/** On what and when everything here was measured. */
export const MEASURED_ON =
  'virtual machines with two cores, shared by gateway, PostgreSQL, carrier and load; November 2026, version 0.2';

const DISK = 'WAL and disk: npm run bench -- disk, two runs, 27 November 2026';

/** An SMS of one part, from the request to its receipt, unless it says otherwise. */
export const COSTS = {
  /** One request for each message, over 64 connections. Without an id of the client it takes 270 octets less on disk. */
  single: {
    gatewayMicros: [165, 265],
    postgresMicros: [98, 230],
    walOctets: [1650, 1650],
    diskOctets: [930, 1200],
    indexOctets: 302,
    source: `CPU: decision 33 (lowest), decision 41 (highest). ${DISK}`,
  },
  /** Requests of 5,000 messages. */
  bulk: {
    gatewayMicros: [17, 59],
    postgresMicros: [16, 62],
    walOctets: [1010, 1190],
    diskOctets: [830, 900],
    indexOctets: 161,
    source: `CPU: decision 33 (lowest), npm run bench -- grow on a slower machine, 26 November 2026 (highest). ${DISK}; decision 7`,
  },
  /** A recipient of a campaign. */
  campaign: {
    gatewayMicros: [28, 52],
    postgresMicros: [43, 62],
    walOctets: [1580, 1630],
    diskOctets: [1100, 1200],
    indexOctets: 250,
    source: `CPU: decision 18 (lowest), decision 26 (highest). ${DISK}`,
  },
  /**
   * Each part of an SMS after the first. Beside a message in bulk of the same run, a part took as much of the gateway and
   * twice as much of PostgreSQL.
   */
  furtherPart: {
    gatewayMicros: [17, 59],
    postgresMicros: [16, 124],
    walOctets: [1060, 1130],
    diskOctets: [745, 760],
    indexOctets: 198,
    source: `CPU: derived from the ratio to a message in bulk. ${DISK}`,
  },
  /**
   * A signed POST over TLS for one event, and its row in the log. The total is half of what two events add to a message; a
   * quarter of it was PostgreSQL's.
   */
  webhookEvent: {
    gatewayMicros: [57, 130],
    postgresMicros: [20, 45],
    walOctets: [472, 475],
    diskOctets: [259, 280],
    indexOctets: 121,
    source: `CPU: docs/comparison.md (lowest), decision 41 (highest), divided as in npm run bench -- disk. ${DISK}`,
  },
  /**
   * A message from a person; on disk from the next one of a known person to the first one of a new person. The CPU time of the
   * gateway is between that of a message in bulk and of a callback of WhatsApp; that of PostgreSQL was 3.5 times a message in
   * bulk of the same run.
   */
  inbound: {
    gatewayMicros: [17, 110],
    postgresMicros: [56, 217],
    walOctets: [3570, 3630],
    diskOctets: [1030, 1790],
    indexOctets: 955,
    source: `CPU: derived, decision 26. ${DISK}`,
  },
} as const satisfies Record<string, Cost>;

/** The indexes that past days get for the history (decision 28). */
export const PAST_DAY_INDEX_OCTETS = 90;
/** The peak in a campaign of a million recipients (docs/operating.md, Sizing). */
export const GATEWAY_OCTETS_PER_PROCESS = 450e6;
/** DATABASE_POOL, and some for locks and notifications (docs/operating.md, Processes). */
export const CONNECTIONS_PER_PROCESS = 30;
/** A segment of 16 MiB is archived at least every five minutes (decision 37). */
export const ARCHIVE_MIN_OCTETS_A_DAY = 288 * 16 * 1024 ** 2;
/** `max_wal_size` that a busy server needs (docs/runbooks/scale-out.md); the built-in one has 4 GB. */
export const WAL_ON_DISK_OCTETS = 16e9;
