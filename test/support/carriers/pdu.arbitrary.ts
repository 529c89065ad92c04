import fc from 'fast-check';
import type { CommandName, Message, Pdu, PduOf } from '../../../src/smpp/pdu.ts';

// Values for property tests: every PDU that the encoder accepts. Without `size: 'max'` fast-check generates about ten
// entries, whatever the maximum is.

const byte = fc.integer({ min: 0, max: 0xff });
const sequence = fc.integer({ min: 1, max: 0x7fffffff });
const octets = (maxLength: number) => fc.uint8Array({ maxLength, size: 'max' });
const latin1 = fc.integer({ min: 1, max: 0xff }).map((code) => String.fromCharCode(code));
/** `size` includes the NUL, as in the protocol's tables. */
const text = (size: number) => fc.string({ unit: latin1, maxLength: size - 1, size: 'max' });

/** No parameter has a tag below 5. */
const tlvs = fc
  .array(fc.tuple(fc.integer({ min: 5, max: 0xffff }), octets(300)), { maxLength: 4 })
  .map((entries): ReadonlyMap<number, Uint8Array> => new Map(entries));

const source = { sourceTon: byte, sourceNpi: byte, source: text(21) };
const destination = { destTon: byte, destNpi: byte, destination: text(21) };
const times = { scheduleTime: text(17), validity: text(17) };
const content = { defaultMessageId: byte, shortMessage: octets(254), tlvs };
const options = { registeredDelivery: byte, replaceIfPresent: byte, dataCoding: byte };
const classes = { esmClass: byte, protocolId: byte, priority: byte };
const service = { serviceType: text(6) };

const message = { ...service, ...source, ...destination, ...classes, ...times, ...options, ...content };
const bind = {
  systemId: text(16),
  password: text(256),
  systemType: text(13),
  interfaceVersion: byte,
  addrTon: byte,
  addrNpi: byte,
  addressRange: text(41),
};
const bindResponse = { systemId: text(16), tlvs };
const idResponse = { messageId: text(65), tlvs };
const address = { ton: byte, npi: byte, address: text(21) };
const destinations = fc.array(fc.oneof(fc.record(address), fc.record({ list: text(21) })), {
  maxLength: 254,
  size: 'max',
});
const unsuccessful = fc.array(fc.record({ ...address, errorStatus: fc.integer({ min: 0, max: 0xffffffff }) }), {
  maxLength: 254,
  size: 'max',
});

type Fields<Body> = { [Key in keyof Body]: fc.Arbitrary<Body[Key]> };

function of<Command extends CommandName, Body>(command: Command, body: Fields<Body>) {
  return fc
    .tuple(sequence, fc.record(body))
    .map(([number, fields]) => ({ command, status: 0, sequence: number, ...fields }));
}

function headerOnly<Command extends CommandName>(command: Command) {
  return sequence.map((number) => ({ command, status: 0, sequence: number }));
}

/** Any body of submit_sm and deliver_sm. */
export const anyMessage: fc.Arbitrary<Message> = fc.record(message);

/** One arbitrary per command, so that a test cannot forget one. */
export const ANY: { readonly [Command in CommandName]: fc.Arbitrary<PduOf<Command>> } = {
  generic_nack: headerOnly('generic_nack'),
  bind_receiver: of('bind_receiver', bind),
  bind_receiver_resp: of('bind_receiver_resp', bindResponse),
  bind_transmitter: of('bind_transmitter', bind),
  bind_transmitter_resp: of('bind_transmitter_resp', bindResponse),
  query_sm: of('query_sm', { messageId: text(65), ...source }),
  query_sm_resp: of('query_sm_resp', {
    messageId: text(65),
    finalDate: text(17),
    messageState: byte,
    errorCode: byte,
  }),
  submit_sm: of('submit_sm', message),
  submit_sm_resp: of('submit_sm_resp', idResponse),
  deliver_sm: of('deliver_sm', message),
  deliver_sm_resp: of('deliver_sm_resp', idResponse),
  unbind: headerOnly('unbind'),
  unbind_resp: headerOnly('unbind_resp'),
  replace_sm: of('replace_sm', {
    messageId: text(65),
    ...source,
    ...times,
    registeredDelivery: byte,
    ...content,
  }),
  replace_sm_resp: headerOnly('replace_sm_resp'),
  cancel_sm: of('cancel_sm', { ...service, messageId: text(65), ...source, ...destination }),
  cancel_sm_resp: headerOnly('cancel_sm_resp'),
  bind_transceiver: of('bind_transceiver', bind),
  bind_transceiver_resp: of('bind_transceiver_resp', bindResponse),
  outbind: of('outbind', { systemId: text(16), password: text(256) }),
  enquire_link: headerOnly('enquire_link'),
  enquire_link_resp: headerOnly('enquire_link_resp'),
  submit_multi: of('submit_multi', {
    ...service,
    ...source,
    destinations,
    ...classes,
    ...times,
    ...options,
    ...content,
  }),
  submit_multi_resp: of('submit_multi_resp', { messageId: text(65), unsuccessful, tlvs }),
  alert_notification: of('alert_notification', {
    ...source,
    source: text(65),
    esmeTon: byte,
    esmeNpi: byte,
    esme: text(65),
    tlvs,
  }),
  data_sm: of('data_sm', {
    ...service,
    ...source,
    source: text(65),
    ...destination,
    destination: text(65),
    esmClass: byte,
    registeredDelivery: byte,
    dataCoding: byte,
    tlvs,
  }),
  data_sm_resp: of('data_sm_resp', idResponse),
};

/** Any PDU. */
export const anyPdu: fc.Arbitrary<Pdu> = fc.oneof(...Object.values(ANY));
