import * as bodies from './bodies.ts';
import { type Message, messageSize, readMessage, writeMessage } from './message.ts';
import { tlvField } from './tlv.ts';
import {
  cStringSize,
  type Layout,
  layoutSize,
  type ReadCursor,
  readCString,
  readLayout,
  type WriteCursor,
  writeCString,
  writeLayout,
} from './wire.ts';

export { EMPTY_MESSAGE, type Message } from './message.ts';
export type { Tlvs } from './tlv.ts';

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

/** The name of a command. */
export type CommandName = keyof typeof COMMAND;

/** A PDU header. `status` is 0 in requests. `sequence` is 1 to 0x7FFFFFFF; a response copies that of its request. */
export type Head<Command extends CommandName> = {
  readonly command: Command;
  readonly status: number;
  readonly sequence: number;
};
/** The header of any PDU. */
export type Header = Head<CommandName>;

type Bodies = {
  generic_nack: bodies.Empty;
  bind_receiver: bodies.Bind;
  bind_receiver_resp: bodies.BindResponse;
  bind_transmitter: bodies.Bind;
  bind_transmitter_resp: bodies.BindResponse;
  query_sm: bodies.QuerySm;
  query_sm_resp: bodies.QueryResponse;
  submit_sm: Message;
  submit_sm_resp: bodies.IdResponse;
  deliver_sm: Message;
  deliver_sm_resp: bodies.IdResponse;
  unbind: bodies.Empty;
  unbind_resp: bodies.Empty;
  replace_sm: bodies.ReplaceSm;
  replace_sm_resp: bodies.Empty;
  cancel_sm: bodies.CancelSm;
  cancel_sm_resp: bodies.Empty;
  bind_transceiver: bodies.Bind;
  bind_transceiver_resp: bodies.BindResponse;
  outbind: bodies.Outbind;
  enquire_link: bodies.Empty;
  enquire_link_resp: bodies.Empty;
  submit_multi: bodies.SubmitMulti;
  submit_multi_resp: bodies.MultiResponse;
  alert_notification: bodies.AlertNotification;
  data_sm: bodies.DataSm;
  data_sm_resp: bodies.IdResponse;
};

/** One PDU of the given command, header and body in one object. */
export type PduOf<Command extends CommandName> = Head<Command> & Bodies[Command];
/** Any PDU; `command` is the discriminant. */
export type Pdu = { [Command in CommandName]: PduOf<Command> }[CommandName];

/** A PDU of one of the given commands. */
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
  generic_nack: byLayout(bodies.EMPTY),
  bind_receiver: byLayout(bodies.BIND),
  bind_receiver_resp: byLayout(bodies.BIND_RESPONSE),
  bind_transmitter: byLayout(bodies.BIND),
  bind_transmitter_resp: byLayout(bodies.BIND_RESPONSE),
  query_sm: byLayout(bodies.QUERY_SM),
  query_sm_resp: byLayout(bodies.QUERY_RESPONSE),
  submit_sm: messageCodec(),
  submit_sm_resp: idCodec(),
  deliver_sm: messageCodec(),
  deliver_sm_resp: idCodec(),
  unbind: byLayout(bodies.EMPTY),
  unbind_resp: byLayout(bodies.EMPTY),
  replace_sm: byLayout(bodies.REPLACE_SM),
  replace_sm_resp: byLayout(bodies.EMPTY),
  cancel_sm: byLayout(bodies.CANCEL_SM),
  cancel_sm_resp: byLayout(bodies.EMPTY),
  bind_transceiver: byLayout(bodies.BIND),
  bind_transceiver_resp: byLayout(bodies.BIND_RESPONSE),
  outbind: byLayout(bodies.OUTBIND),
  enquire_link: byLayout(bodies.EMPTY),
  enquire_link_resp: byLayout(bodies.EMPTY),
  submit_multi: byLayout(bodies.SUBMIT_MULTI),
  submit_multi_resp: byLayout(bodies.MULTI_RESPONSE),
  alert_notification: byLayout(bodies.ALERT_NOTIFICATION),
  data_sm: byLayout(bodies.DATA_SM),
  data_sm_resp: byLayout(bodies.ID_RESPONSE),
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

/** The size of a PDU's header, and the position of its command_length. */
export const HEADER_OCTETS = 16;
export const COMMAND_LENGTH_AT = 0;
const RESPONSE_BIT = 0x80000000;
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
 * Values longer than a field's limit are accepted. A response with a status other than 0 needs no body: missing or
 * unreadable fields are empty. Optional parameters after a body that defines none (5.0 peers send them) are dropped.
 */
export function decodePdu(frame: Uint8Array): Pdu | DecodeFailure {
  const bytes = Buffer.isBuffer(frame) ? frame : Buffer.from(frame.buffer, frame.byteOffset, frame.length);
  if (bytes.length < HEADER_OCTETS) return failure(bytes, 'malformed', 'shorter than a header');
  if (bytes.readUInt32BE(COMMAND_LENGTH_AT) !== bytes.length)
    return failure(bytes, 'malformed', 'command_length is not the length');
  const command = NAMES.get(bytes.readUInt32BE(4));
  if (command === undefined) return failure(bytes, 'unknown_command', 'unknown command_id');

  const head = { command, status: bytes.readUInt32BE(8), sequence: bytes.readUInt32BE(12) };
  const cursor: ReadCursor = { bytes, offset: HEADER_OCTETS, fault: null };
  const pdu = codecOf(command).read(cursor, head);
  if (cursor.offset < bytes.length) tlvField.read(cursor, 'tlvs');
  if (cursor.fault === null) return pdu;
  const refused = head.status !== 0 && COMMAND[command] >= RESPONSE_BIT;
  return refused ? withoutBody(head) : failure(bytes, 'malformed', cursor.fault);
}

/** Returns a PDU with empty fields: with a status other than 0, a response that is only its header. */
export function withoutBody(head: Header): Pdu {
  return codecOf(head.command).read({ bytes: NOTHING, offset: 0, fault: null }, head);
}

function failure(bytes: Buffer, kind: DecodeFailure['failure'], reason: string): DecodeFailure {
  const whole = bytes.length >= HEADER_OCTETS;
  const commandId = whole ? bytes.readUInt32BE(4) : 0;
  return { failure: kind, commandId, sequence: whole ? bytes.readUInt32BE(12) : 0, reason };
}
