import type { Message } from './message.ts';
import { type Tlvs, tlvField } from './tlv.ts';
import { byte, cString, type Field, type Layout, readByte, shortOctets, type WriteCursor } from './wire.ts';

// The bodies of every PDU except submit_sm and deliver_sm (SMPP 3.4, 4), each with its layout.

/** The body of every bind request. */
export type Bind = {
  readonly systemId: string;
  readonly password: string;
  readonly systemType: string;
  /** 0x33, 0x34 or 0x50. */
  readonly interfaceVersion: number;
  readonly addrTon: number;
  readonly addrNpi: number;
  readonly addressRange: string;
};
/** The body of every bind response. */
export type BindResponse = { readonly systemId: string; readonly tlvs: Tlvs };
/** The body of outbind. */
export type Outbind = { readonly systemId: string; readonly password: string };
/** The body of submit_sm_resp, deliver_sm_resp and data_sm_resp. */
export type IdResponse = { readonly messageId: string; readonly tlvs: Tlvs };

type Source = Pick<Message, 'sourceTon' | 'sourceNpi' | 'source'>;
type Destination = Pick<Message, 'destTon' | 'destNpi' | 'destination'>;

/** The body of data_sm. */
export type DataSm = Source &
  Destination &
  Pick<Message, 'serviceType' | 'esmClass' | 'registeredDelivery' | 'dataCoding' | 'tlvs'>;

/** The body of query_sm. */
export type QuerySm = Source & { readonly messageId: string };
/** The body of query_sm_resp. */
export type QueryResponse = {
  readonly messageId: string;
  /** Empty until the state is final. */
  readonly finalDate: string;
  readonly messageState: number;
  readonly errorCode: number;
};

/** The body of cancel_sm. */
export type CancelSm = Source & Destination & { readonly serviceType: string; readonly messageId: string };

/** The body of replace_sm. */
export type ReplaceSm = Source &
  Pick<Message, 'scheduleTime' | 'validity' | 'registeredDelivery' | 'defaultMessageId' | 'shortMessage' | 'tlvs'> & {
    readonly messageId: string;
  };

/** One address in submit_multi and its response. */
export type Address = { readonly ton: number; readonly npi: number; readonly address: string };
/** One destination of submit_multi: an address, or the name of a distribution list. */
export type MultiDestination = Address | { readonly list: string };

/** The body of submit_multi. */
export type SubmitMulti = Omit<Message, keyof Destination> & { readonly destinations: readonly MultiDestination[] };
/** A destination of submit_multi that was rejected, with its command_status. */
export type Unsuccessful = Address & { readonly errorStatus: number };
/** The body of submit_multi_resp. */
export type MultiResponse = {
  readonly messageId: string;
  readonly unsuccessful: readonly Unsuccessful[];
  readonly tlvs: Tlvs;
};

/** The body of alert_notification. */
export type AlertNotification = Source & {
  readonly esmeTon: number;
  readonly esmeNpi: number;
  readonly esme: string;
  readonly tlvs: Tlvs;
};

/** The body of a PDU with only a header. */
export type Empty = Record<never, never>;

const serviceType = cString(6);
const address = cString(21);
const longAddress = cString(65);
const messageId = cString(65);
const time = cString(17);
const systemId = cString(16);
/**
 * The protocol allows 9 octets, but passwords of more than 8 characters are common, and carriers that issue them accept
 * them.
 */
const password = cString(256);

/** A list: the number of items in one octet, at most 254, then the items. */
function counted<Item>(item: Field<Item>): Field<readonly Item[]> {
  return {
    size(name, items) {
      if (items.length > 254) throw new RangeError(`${name} takes at most 254 entries, not ${items.length}`);
      return items.reduce((sum, entry) => sum + item.size(name, entry), 1);
    },
    write(cursor, items) {
      byte.write(cursor, items.length);
      for (const entry of items) item.write(cursor, entry);
    },
    read(cursor, name) {
      const items: Item[] = [];
      const count = readByte(cursor, name);
      while (items.length < count && cursor.fault === null) items.push(item.read(cursor, name));
      return items;
    },
  };
}

function sizeOfAddress(name: string, value: Address): number {
  return byte.size(name, value.ton) + byte.size(name, value.npi) + address.size(name, value.address);
}

function writeAddress(cursor: WriteCursor, value: Address): void {
  byte.write(cursor, value.ton);
  byte.write(cursor, value.npi);
  address.write(cursor, value.address);
}

const DEST_ADDRESS = 1;
const DEST_LIST = 2;

const destination: Field<MultiDestination> = {
  size: (name, value) => 1 + ('list' in value ? address.size(name, value.list) : sizeOfAddress(name, value)),
  write(cursor, value) {
    byte.write(cursor, 'list' in value ? DEST_LIST : DEST_ADDRESS);
    if ('list' in value) address.write(cursor, value.list);
    else writeAddress(cursor, value);
  },
  read(cursor, name) {
    if (readByte(cursor, name) === DEST_LIST) return { list: address.read(cursor, name) };
    return { ton: readByte(cursor, name), npi: readByte(cursor, name), address: address.read(cursor, name) };
  },
};

const unsuccessful: Field<Unsuccessful> = {
  size: (name, value) => sizeOfAddress(name, value) + 4,
  write(cursor, value) {
    writeAddress(cursor, value);
    cursor.offset = cursor.bytes.writeUInt32BE(value.errorStatus >>> 0, cursor.offset);
  },
  read: (cursor, name) => ({
    ton: readByte(cursor, name),
    npi: readByte(cursor, name),
    address: address.read(cursor, name),
    errorStatus: [0, 0, 0, 0].reduce((sum) => sum * 256 + readByte(cursor, name), 0),
  }),
};

export const EMPTY: Layout<Empty> = {};
export const BIND: Layout<Bind> = {
  systemId,
  password,
  systemType: cString(13),
  interfaceVersion: byte,
  addrTon: byte,
  addrNpi: byte,
  addressRange: cString(41),
};
export const BIND_RESPONSE: Layout<BindResponse> = { systemId, tlvs: tlvField };
export const OUTBIND: Layout<Outbind> = { systemId, password };
export const ID_RESPONSE: Layout<IdResponse> = { messageId, tlvs: tlvField };

const SOURCE = { sourceTon: byte, sourceNpi: byte, source: address };
const DESTINATION = { destTon: byte, destNpi: byte, destination: address };
const SHORT_MESSAGE = { defaultMessageId: byte, shortMessage: shortOctets, tlvs: tlvField };

export const DATA_SM: Layout<DataSm> = {
  serviceType,
  ...SOURCE,
  source: longAddress,
  ...DESTINATION,
  destination: longAddress,
  esmClass: byte,
  registeredDelivery: byte,
  dataCoding: byte,
  tlvs: tlvField,
};
export const QUERY_SM: Layout<QuerySm> = { messageId, ...SOURCE };
export const QUERY_RESPONSE: Layout<QueryResponse> = {
  messageId,
  finalDate: time,
  messageState: byte,
  errorCode: byte,
};
export const CANCEL_SM: Layout<CancelSm> = { serviceType, messageId, ...SOURCE, ...DESTINATION };
export const REPLACE_SM: Layout<ReplaceSm> = {
  messageId,
  ...SOURCE,
  scheduleTime: time,
  validity: time,
  registeredDelivery: byte,
  ...SHORT_MESSAGE,
};
export const SUBMIT_MULTI: Layout<SubmitMulti> = {
  serviceType,
  ...SOURCE,
  destinations: counted(destination),
  esmClass: byte,
  protocolId: byte,
  priority: byte,
  scheduleTime: time,
  validity: time,
  registeredDelivery: byte,
  replaceIfPresent: byte,
  dataCoding: byte,
  ...SHORT_MESSAGE,
};
export const MULTI_RESPONSE: Layout<MultiResponse> = {
  messageId,
  unsuccessful: counted(unsuccessful),
  tlvs: tlvField,
};
export const ALERT_NOTIFICATION: Layout<AlertNotification> = {
  ...SOURCE,
  source: longAddress,
  esmeTon: byte,
  esmeNpi: byte,
  esme: longAddress,
  tlvs: tlvField,
};
