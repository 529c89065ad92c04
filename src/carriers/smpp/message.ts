import { NO_TLVS, type Tlvs, tlvField } from './tlv.ts';
import {
  byte,
  cStringSize,
  type ReadCursor,
  readByte,
  readCString,
  shortOctets,
  type WriteCursor,
  writeCString,
} from './wire.ts';

/** The common body of submit_sm and deliver_sm (SMPP 3.4, 4.4 and 4.6). */
export type Message = {
  readonly serviceType: string;
  readonly sourceTon: number;
  readonly sourceNpi: number;
  readonly source: string;
  readonly destTon: number;
  readonly destNpi: number;
  readonly destination: string;
  readonly esmClass: number;
  readonly protocolId: number;
  readonly priority: number;
  /** 16 characters in the format of `times.ts`; empty for immediate delivery. */
  readonly scheduleTime: string;
  /** 16 characters in the format of `times.ts`; empty leaves the validity to the carrier. */
  readonly validity: string;
  readonly registeredDelivery: number;
  readonly replaceIfPresent: number;
  readonly dataCoding: number;
  readonly defaultMessageId: number;
  /** At most 254 octets; a longer text goes in the message_payload parameter. */
  readonly shortMessage: Uint8Array;
  readonly tlvs: Tlvs;
};

/** An empty message without a sender to an international number: the fields that most messages have in common. */
export const EMPTY_MESSAGE: Message = {
  serviceType: '',
  sourceTon: 0,
  sourceNpi: 0,
  source: '',
  destTon: 1,
  destNpi: 1,
  destination: '',
  esmClass: 0,
  protocolId: 0,
  priority: 0,
  scheduleTime: '',
  validity: '',
  registeredDelivery: 0,
  replaceIfPresent: 0,
  dataCoding: 0,
  defaultMessageId: 0,
  shortMessage: new Uint8Array(0),
  tlvs: NO_TLVS,
};

// These two PDUs are nearly all of the traffic, so their code is written out: a layout table would cost about half of
// the rate.

/** Returns the size of the body in octets. Throws a RangeError naming the first field whose value does not fit. */
export function messageSize(message: Message): number {
  return (
    cStringSize('serviceType', message.serviceType, 6) +
    byte.size('sourceTon', message.sourceTon) +
    byte.size('sourceNpi', message.sourceNpi) +
    cStringSize('source', message.source, 21) +
    byte.size('destTon', message.destTon) +
    byte.size('destNpi', message.destNpi) +
    cStringSize('destination', message.destination, 21) +
    byte.size('esmClass', message.esmClass) +
    byte.size('protocolId', message.protocolId) +
    byte.size('priority', message.priority) +
    cStringSize('scheduleTime', message.scheduleTime, 17) +
    cStringSize('validity', message.validity, 17) +
    byte.size('registeredDelivery', message.registeredDelivery) +
    byte.size('replaceIfPresent', message.replaceIfPresent) +
    byte.size('dataCoding', message.dataCoding) +
    byte.size('defaultMessageId', message.defaultMessageId) +
    shortOctets.size('shortMessage', message.shortMessage) +
    tlvField.size('tlvs', message.tlvs)
  );
}

/** Writes the body at the cursor, which must have room for `messageSize` octets. */
export function writeMessage(cursor: WriteCursor, message: Message): void {
  writeCString(cursor, message.serviceType);
  byte.write(cursor, message.sourceTon);
  byte.write(cursor, message.sourceNpi);
  writeCString(cursor, message.source);
  byte.write(cursor, message.destTon);
  byte.write(cursor, message.destNpi);
  writeCString(cursor, message.destination);
  byte.write(cursor, message.esmClass);
  byte.write(cursor, message.protocolId);
  byte.write(cursor, message.priority);
  writeCString(cursor, message.scheduleTime);
  writeCString(cursor, message.validity);
  byte.write(cursor, message.registeredDelivery);
  byte.write(cursor, message.replaceIfPresent);
  byte.write(cursor, message.dataCoding);
  byte.write(cursor, message.defaultMessageId);
  shortOctets.write(cursor, message.shortMessage);
  tlvField.write(cursor, message.tlvs);
}

type Head<Command> = { readonly command: Command; readonly status: number; readonly sequence: number };

/** Reads the body and returns header and body in one object. The order of the fields here is the order of reading. */
export function readMessage<Command>(cursor: ReadCursor, head: Head<Command>): Head<Command> & Message {
  return {
    command: head.command,
    status: head.status,
    sequence: head.sequence,
    serviceType: readCString(cursor, 'serviceType'),
    sourceTon: readByte(cursor, 'sourceTon'),
    sourceNpi: readByte(cursor, 'sourceNpi'),
    source: readCString(cursor, 'source'),
    destTon: readByte(cursor, 'destTon'),
    destNpi: readByte(cursor, 'destNpi'),
    destination: readCString(cursor, 'destination'),
    esmClass: readByte(cursor, 'esmClass'),
    protocolId: readByte(cursor, 'protocolId'),
    priority: readByte(cursor, 'priority'),
    scheduleTime: readCString(cursor, 'scheduleTime'),
    validity: readCString(cursor, 'validity'),
    registeredDelivery: readByte(cursor, 'registeredDelivery'),
    replaceIfPresent: readByte(cursor, 'replaceIfPresent'),
    dataCoding: readByte(cursor, 'dataCoding'),
    defaultMessageId: readByte(cursor, 'defaultMessageId'),
    shortMessage: shortOctets.read(cursor, 'shortMessage'),
    tlvs: tlvField.read(cursor, 'tlvs'),
  };
}
