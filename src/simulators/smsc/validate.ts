import type { Message } from '../../carriers/smpp/pdu.ts';
import { segmentStatus } from '../../carriers/smpp/segments.ts';
import { STATUS } from '../../carriers/smpp/status.ts';
import { parseTime } from '../../carriers/smpp/times.ts';
import { TAG } from '../../carriers/smpp/tlv.ts';
import type { SandboxScript } from './script.ts';

type Check = (message: Message, script: SandboxScript) => number;

const UDHI = 0x40;
const MAX_TON = 6;
const ALPHANUMERIC = 5;
const INTERNATIONAL = 1;
const NPIS: ReadonlySet<number> = new Set([0, 1, 3, 4, 6, 8, 9, 10, 14, 18]);

const DIGITS = /^\d{3,20}$/;
const INTERNATIONAL_NUMBER = /^[1-9]\d{6,14}$/;
const ALPHANUMERIC_SENDER = /^[\x20-\x7e]{1,11}$/;

/**
 * Validates a submit_sm like a strict carrier, in this order: lengths,
 * addresses, esm_class against the SAR parameters, times, registered_delivery, and the fields that few carriers check.
 * Returns the status of the first check that fails, or 0.
 */
export function submitStatus(message: Message, script: SandboxScript): number {
  for (const check of CHECKS) {
    const status = check(message, script);
    if (status !== STATUS.ESME_ROK) return status;
  }
  return STATUS.ESME_ROK;
}

const CHECKS: readonly Check[] = [
  checkDataCoding,
  checkLength,
  checkSource,
  checkDestination,
  segmentStatus,
  checkTimes,
  checkRegisteredDelivery,
  checkRest,
];

/** The capacity of one message: 160 septets, or 140 octets; a character has `unit` octets. */
type Room = { readonly septets: boolean; readonly unit: 1 | 2 };

function roomOf(dataCoding: number): Room | null {
  if (dataCoding === 0x00 || dataCoding === 0x01) return { septets: true, unit: 1 };
  if (dataCoding >= 0x02 && dataCoding <= 0x04) return { septets: false, unit: 1 };
  if (dataCoding === 0x08 || dataCoding === 0x18) return { septets: false, unit: 2 };
  // TS 23.038, data coding and message class: bit 2 distinguishes 8-bit from GSM 7-bit.
  if (dataCoding >= 0xf0 && dataCoding <= 0xf7) return { septets: (dataCoding & 0x04) === 0, unit: 1 };
  return null;
}

function checkDataCoding(message: Message): number {
  return roomOf(message.dataCoding) ? STATUS.ESME_ROK : STATUS.ESME_RINVDCS;
}

function checkLength(message: Message): number {
  const length = message.shortMessage.length;
  const payload = message.tlvs.get(TAG.message_payload);
  if (payload) return length > 0 || payload.length === 0 ? STATUS.ESME_RINVMSGLEN : STATUS.ESME_ROK;
  const room = roomOf(message.dataCoding);
  if (!room || length === 0 || length > 254) return STATUS.ESME_RINVMSGLEN;
  const header = message.esmClass & UDHI ? (message.shortMessage[0] ?? 0) + 1 : 0;
  const limit = room.septets ? Math.floor(((140 - header) * 8) / 7) : 140 - header;
  const text = length - header;
  return text < 0 || text > limit || text % room.unit !== 0 ? STATUS.ESME_RINVMSGLEN : STATUS.ESME_ROK;
}

function checkSource({ sourceTon, sourceNpi, source }: Message, script: SandboxScript): number {
  if (sourceTon > MAX_TON) return STATUS.ESME_RINVSRCTON;
  if (!NPIS.has(sourceNpi)) return STATUS.ESME_RINVSRCNPI;
  if (source === '') return sourceTon === 0 && sourceNpi === 0 ? STATUS.ESME_ROK : STATUS.ESME_RINVSRCADR;
  if (sourceTon !== ALPHANUMERIC) return isNumber(source, sourceTon, script) ? STATUS.ESME_ROK : STATUS.ESME_RINVSRCADR;
  if (sourceNpi > 1) return STATUS.ESME_RINVSRCNPI;
  return ALPHANUMERIC_SENDER.test(source) ? STATUS.ESME_ROK : STATUS.ESME_RINVSRCADR;
}

function checkDestination({ destTon, destNpi, destination }: Message, script: SandboxScript): number {
  if (destTon > MAX_TON || destTon === ALPHANUMERIC) return STATUS.ESME_RINVDSTTON;
  if (!NPIS.has(destNpi)) return STATUS.ESME_RINVDSTNPI;
  return isNumber(destination, destTon, script) ? STATUS.ESME_ROK : STATUS.ESME_RINVDSTADR;
}

function isNumber(address: string, ton: number, script: SandboxScript): boolean {
  const digits = script.allowPlus && address.startsWith('+') ? address.slice(1) : address;
  return (ton === INTERNATIONAL ? INTERNATIONAL_NUMBER : DIGITS).test(digits);
}

/**
 * Checks the times. Scheduling is rejected, as at several aggregators; a validity must be readable and in the future.
 */
function checkTimes({ scheduleTime, validity }: Message): number {
  if (scheduleTime !== '') return STATUS.ESME_RINVSCHED;
  if (validity === '') return STATUS.ESME_ROK;
  return readTime(validity) > Date.now() ? STATUS.ESME_ROK : STATUS.ESME_RINVEXPIRY;
}

const lastTime = { text: '', at: 0 };

/**
 * Returns milliseconds since the epoch; 0 for an invalid time. Consecutive messages mostly share their validity, so one
 * is cached.
 */
function readTime(text: string): number {
  if (lastTime.text === text) return lastTime.at;
  const time = parseTime(text);
  if (time && !(time instanceof Date)) return Date.now() + time.relativeMs;
  lastTime.text = text;
  lastTime.at = time?.getTime() ?? 0;
  return lastTime.at;
}

/** SMPP 3.4: bits 1-0 are 0 to 2 (3 is reserved), bits 7-5 are 0. */
function checkRegisteredDelivery({ registeredDelivery }: Message): number {
  const valid = (registeredDelivery & 0x03) !== 0x03 && (registeredDelivery & 0xe0) === 0;
  return valid ? STATUS.ESME_ROK : STATUS.ESME_RINVREGDLVFLG;
}

function checkRest(message: Message): number {
  if (message.serviceType.length > 5) return STATUS.ESME_RINVSERTYP;
  if (message.priority > 3) return STATUS.ESME_RINVPRTFLG;
  if (message.replaceIfPresent > 1) return STATUS.ESME_RINVREPFLAG;
  return message.defaultMessageId === 0 ? STATUS.ESME_ROK : STATUS.ESME_RINVDFTMSGID;
}
