import { type Message, messageSize, readMessage, writeMessage } from './message.ts';
import {
  byte,
  cString,
  cStringSize,
  type Field,
  type Layout,
  layoutSize,
  type ReadCursor,
  readByte,
  readCString,
  readLayout,
  shortOctets,
  type Tlvs,
  tlvField,
  type WriteCursor,
  writeCString,
  writeLayout,
} from './wire.ts';

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
type BindResponse = { readonly systemId: string; readonly tlvs: Tlvs };
type Outbind = { readonly systemId: string; readonly password: string };
/** The body of submit_sm_resp, deliver_sm_resp and data_sm_resp. */
type IdResponse = { readonly messageId: string; readonly tlvs: Tlvs };

type Source = Pick<Message, 'sourceTon' | 'sourceNpi' | 'source'>;
type Destination = Pick<Message, 'destTon' | 'destNpi' | 'destination'>;

type DataSm = Source &
  Destination &
  Pick<Message, 'serviceType' | 'esmClass' | 'registeredDelivery' | 'dataCoding' | 'tlvs'>;

type QuerySm = Source & { readonly messageId: string };
/** The body of query_sm_resp. */
type QueryResponse = {
  readonly messageId: string;
  /** Empty until the state is final. */
  readonly finalDate: string;
  readonly messageState: number;
  readonly errorCode: number;
};

type CancelSm = Source & Destination & { readonly serviceType: string; readonly messageId: string };

type ReplaceSm = Source &
  Pick<Message, 'scheduleTime' | 'validity' | 'registeredDelivery' | 'defaultMessageId' | 'shortMessage' | 'tlvs'> & {
    readonly messageId: string;
  };

/** One address in submit_multi and its response. */
export type Address = { readonly ton: number; readonly npi: number; readonly address: string };
/** One destination of submit_multi: an address, or the name of a distribution list. */
type MultiDestination = Address | { readonly list: string };

type SubmitMulti = Omit<Message, keyof Destination> & { readonly destinations: readonly MultiDestination[] };
/** A destination of submit_multi that was rejected, with its command_status. */
type Unsuccessful = Address & { readonly errorStatus: number };
/** The body of submit_multi_resp. */
type MultiResponse = {
  readonly messageId: string;
  readonly unsuccessful: readonly Unsuccessful[];
  readonly tlvs: Tlvs;
};

type AlertNotification = Source & {
  readonly esmeTon: number;
  readonly esmeNpi: number;
  readonly esme: string;
  readonly tlvs: Tlvs;
};

/** The body of a PDU with only a header. */
type Empty = Record<never, never>;

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

const EMPTY: Layout<Empty> = {};
const BIND: Layout<Bind> = {
  systemId,
  password,
  systemType: cString(13),
  interfaceVersion: byte,
  addrTon: byte,
  addrNpi: byte,
  addressRange: cString(41),
};
const BIND_RESPONSE: Layout<BindResponse> = { systemId, tlvs: tlvField };
const OUTBIND: Layout<Outbind> = { systemId, password };
const ID_RESPONSE: Layout<IdResponse> = { messageId, tlvs: tlvField };

const SOURCE = { sourceTon: byte, sourceNpi: byte, source: address };
const DESTINATION = { destTon: byte, destNpi: byte, destination: address };
const SHORT_MESSAGE = { defaultMessageId: byte, shortMessage: shortOctets, tlvs: tlvField };

const DATA_SM: Layout<DataSm> = {
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
const QUERY_SM: Layout<QuerySm> = { messageId, ...SOURCE };
const QUERY_RESPONSE: Layout<QueryResponse> = {
  messageId,
  finalDate: time,
  messageState: byte,
  errorCode: byte,
};
const CANCEL_SM: Layout<CancelSm> = { serviceType, messageId, ...SOURCE, ...DESTINATION };
const REPLACE_SM: Layout<ReplaceSm> = {
  messageId,
  ...SOURCE,
  scheduleTime: time,
  validity: time,
  registeredDelivery: byte,
  ...SHORT_MESSAGE,
};
const SUBMIT_MULTI: Layout<SubmitMulti> = {
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
const MULTI_RESPONSE: Layout<MultiResponse> = {
  messageId,
  unsuccessful: counted(unsuccessful),
  tlvs: tlvField,
};
const ALERT_NOTIFICATION: Layout<AlertNotification> = {
  ...SOURCE,
  source: longAddress,
  esmeTon: byte,
  esmeNpi: byte,
  esme: longAddress,
  tlvs: tlvField,
};

export { EMPTY_MESSAGE, type Message } from './message.ts';
export type { Tlvs } from './wire.ts';

/**
 * The `command_id` values by name (SMPP 3.4, 5.1.2.1). The cell broadcast PDUs of 5.0 are excluded on purpose: a 3.4
 * peer treats them like any unknown command.
 */
export const COMMAND = {
  generic_nack: 0x80000000,
  bind_receiver: 0x01,
  bind_receiver_resp: 0x80000001,
  bind_transmitter: 0x02,
  bind_transmitter_resp: 0x80000002,
  query_sm: 0x03,
  query_sm_resp: 0x80000003,
  submit_sm: 0x04,
  submit_sm_resp: 0x80000004,
  deliver_sm: 0x05,
  deliver_sm_resp: 0x80000005,
  unbind: 0x06,
  unbind_resp: 0x80000006,
  replace_sm: 0x07,
  replace_sm_resp: 0x80000007,
  cancel_sm: 0x08,
  cancel_sm_resp: 0x80000008,
  bind_transceiver: 0x09,
  bind_transceiver_resp: 0x80000009,
  outbind: 0x0b,
  enquire_link: 0x15,
  enquire_link_resp: 0x80000015,
  submit_multi: 0x21,
  submit_multi_resp: 0x80000021,
  alert_notification: 0x102,
  data_sm: 0x103,
  data_sm_resp: 0x80000103,
} as const;

export type CommandName = keyof typeof COMMAND;

/** Bit of the command_id that is set in each response. */
export const RESPONSE_BIT = 0x80000000;

/** A PDU header. `status` is 0 in requests. `sequence` is 1 to 0x7FFFFFFF; a response copies that of its request. */
type Head<Command extends CommandName> = {
  readonly command: Command;
  readonly status: number;
  readonly sequence: number;
  /** Number of bytes that belong to no field; undefined if there are none. */
  readonly ignored?: number;
};
type Header = Head<CommandName>;

type Bodies = {
  generic_nack: Empty;
  bind_receiver: Bind;
  bind_receiver_resp: BindResponse;
  bind_transmitter: Bind;
  bind_transmitter_resp: BindResponse;
  query_sm: QuerySm;
  query_sm_resp: QueryResponse;
  submit_sm: Message;
  submit_sm_resp: IdResponse;
  deliver_sm: Message;
  deliver_sm_resp: IdResponse;
  unbind: Empty;
  unbind_resp: Empty;
  replace_sm: ReplaceSm;
  replace_sm_resp: Empty;
  cancel_sm: CancelSm;
  cancel_sm_resp: Empty;
  bind_transceiver: Bind;
  bind_transceiver_resp: BindResponse;
  outbind: Outbind;
  enquire_link: Empty;
  enquire_link_resp: Empty;
  submit_multi: SubmitMulti;
  submit_multi_resp: MultiResponse;
  alert_notification: AlertNotification;
  data_sm: DataSm;
  data_sm_resp: IdResponse;
};

export type PduOf<Command extends CommandName> = Head<Command> & Bodies[Command];
/** Any PDU; `command` is the discriminant. */
export type Pdu = { [Command in CommandName]: PduOf<Command> }[CommandName];

export type AnyPduOf<Command extends CommandName> = Extract<Pdu, { readonly command: Command }>;

/** Reason why a frame is not a valid PDU. `commandId` and `sequence` are 0 if the frame is too short to hold them. */
export type DecodeFailure = {
  readonly failure: 'unknown_command' | 'malformed';
  readonly commandId: number;
  readonly sequence: number;
  readonly reason: string;
};

type Codec<Command extends CommandName> = {
  size(body: Bodies[Command]): number;
  write(cursor: WriteCursor, body: Bodies[Command]): void;
  read(cursor: ReadCursor, head: Head<Command>): PduOf<Command>;
};

function byLayout<Command extends CommandName>(layout: Layout<Bodies[Command]>): Codec<Command> {
  return {
    size: (body) => layoutSize(layout, body),
    write: (cursor, body) => writeLayout(cursor, layout, body),
    read: (cursor, head) => ({ ...head, ...readLayout(cursor, layout) }),
  };
}

function messageCodec<Command extends 'submit_sm' | 'deliver_sm'>(): Codec<Command> {
  return { size: messageSize, write: writeMessage, read: readMessage<Command> };
}

/** Written out for speed, like the messages: every message has one such response. */
function idCodec<Command extends 'submit_sm_resp' | 'deliver_sm_resp'>(): Codec<Command> {
  return {
    size: (body) => cStringSize('messageId', body.messageId, 65) + tlvField.size('tlvs', body.tlvs),
    write(cursor, body) {
      writeCString(cursor, body.messageId);
      tlvField.write(cursor, body.tlvs);
    },
    read: (cursor, head) => ({
      command: head.command,
      status: head.status,
      sequence: head.sequence,
      messageId: readCString(cursor, 'messageId'),
      tlvs: tlvField.read(cursor, 'tlvs'),
    }),
  };
}

const CODECS: { readonly [Command in CommandName]: Codec<Command> } = {
  generic_nack: byLayout(EMPTY),
  bind_receiver: byLayout(BIND),
  bind_receiver_resp: byLayout(BIND_RESPONSE),
  bind_transmitter: byLayout(BIND),
  bind_transmitter_resp: byLayout(BIND_RESPONSE),
  query_sm: byLayout(QUERY_SM),
  query_sm_resp: byLayout(QUERY_RESPONSE),
  submit_sm: messageCodec(),
  submit_sm_resp: idCodec(),
  deliver_sm: messageCodec(),
  deliver_sm_resp: idCodec(),
  unbind: byLayout(EMPTY),
  unbind_resp: byLayout(EMPTY),
  replace_sm: byLayout(REPLACE_SM),
  replace_sm_resp: byLayout(EMPTY),
  cancel_sm: byLayout(CANCEL_SM),
  cancel_sm_resp: byLayout(EMPTY),
  bind_transceiver: byLayout(BIND),
  bind_transceiver_resp: byLayout(BIND_RESPONSE),
  outbind: byLayout(OUTBIND),
  enquire_link: byLayout(EMPTY),
  enquire_link_resp: byLayout(EMPTY),
  submit_multi: byLayout(SUBMIT_MULTI),
  submit_multi_resp: byLayout(MULTI_RESPONSE),
  alert_notification: byLayout(ALERT_NOTIFICATION),
  data_sm: byLayout(DATA_SM),
  data_sm_resp: byLayout(ID_RESPONSE),
};

type AnyCodec = {
  size(body: Pdu): number;
  write(cursor: WriteCursor, body: Pdu): void;
  read(cursor: ReadCursor, head: Header): Pdu;
};

/** The type system cannot tie the codec of `command` to its PDU; the table above does. */
function codecOf(command: CommandName): AnyCodec {
  return CODECS[command] as AnyCodec;
}

const NAMES: ReadonlyMap<number, CommandName> = new Map(
  (Object.keys(COMMAND) as CommandName[]).map((name) => [COMMAND[name], name]),
);

/** Returns the name of a command_id; undefined for an unknown one. */
export const commandName = (commandId: number): CommandName | undefined => NAMES.get(commandId);

/** The size of a PDU's header, and the position of its command_length. */
export const HEADER_OCTETS = 16;
export const COMMAND_LENGTH_AT = 0;
const NOTHING = Buffer.alloc(0);

/**
 * Encodes a PDU. A response with a status other than 0 is only its header, whatever the body holds, except for
 * query_sm_resp: SMPP 3.4 never omits its fields (4.8.2), and there are clients that read them before the status.
 * Throws a RangeError naming the field whose value does not fit (too long, a NUL or a non-Latin-1 character, an integer
 * out of range): the caller validates first.
 */
export function encodePdu(pdu: Pdu): Buffer {
  const commandId = COMMAND[pdu.command];
  const headerOnly = pdu.status !== 0 && commandId >= RESPONSE_BIT && pdu.command !== 'query_sm_resp';
  const codec = codecOf(pdu.command);
  const length = headerOnly ? HEADER_OCTETS : HEADER_OCTETS + codec.size(pdu);
  const bytes = Buffer.allocUnsafe(length);
  bytes.writeUInt32BE(length, COMMAND_LENGTH_AT);
  bytes.writeUInt32BE(commandId, 4);
  bytes.writeUInt32BE(pdu.status, 8);
  bytes.writeUInt32BE(pdu.sequence, 12);
  if (!headerOnly) codec.write({ bytes, offset: HEADER_OCTETS }, pdu);
  return bytes;
}

/**
 * Decodes the PDU in one frame, or returns the reason for a failure; never throws. Octet fields are views of `frame`.
 * Values longer than a field's limit are accepted, and octets after the last readable parameter are ignored. A response
 * needs no body: its status is its meaning, and missing fields are empty. Optional parameters after a body that defines
 * none (5.0 peers send them) are dropped.
 */
export function decodePdu(frame: Uint8Array): Pdu | DecodeFailure {
  const bytes = Buffer.isBuffer(frame) ? frame : Buffer.from(frame.buffer, frame.byteOffset, frame.length);
  if (bytes.length < HEADER_OCTETS) return failure(bytes, 'malformed', 'shorter than a header');
  if (bytes.readUInt32BE(COMMAND_LENGTH_AT) !== bytes.length)
    return failure(bytes, 'malformed', 'command_length is not the length');
  const command = commandName(bytes.readUInt32BE(4));
  if (command === undefined) return failure(bytes, 'unknown_command', 'unknown command_id');

  const head = { command, status: bytes.readUInt32BE(8), sequence: bytes.readUInt32BE(12) };
  const cursor: ReadCursor = { bytes, offset: HEADER_OCTETS, fault: null, ignored: 0 };
  const pdu = codecOf(command).read(cursor, head);
  if (cursor.fault !== null && COMMAND[command] < RESPONSE_BIT) return failure(bytes, 'malformed', cursor.fault);
  return cursor.ignored === 0 ? pdu : { ...pdu, ignored: cursor.ignored };
}

/** Returns a PDU with empty fields: with a status other than 0, a response that is only its header. */
export function withoutBody(head: Header): Pdu {
  return codecOf(head.command).read({ bytes: NOTHING, offset: 0, fault: null, ignored: 0 }, head);
}

function failure(bytes: Buffer, kind: DecodeFailure['failure'], reason: string): DecodeFailure {
  const whole = bytes.length >= HEADER_OCTETS;
  const commandId = whole ? bytes.readUInt32BE(4) : 0;
  return { failure: kind, commandId, sequence: whole ? bytes.readUInt32BE(12) : 0, reason };
}
