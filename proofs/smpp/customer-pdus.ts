import type { Bind } from '../../src/carriers/smpp/bodies.ts';
import { EMPTY_MESSAGE, encodePdu, type Pdu } from '../../src/carriers/smpp/pdu.ts';
import { cStringValue, NO_TLVS, TAG } from '../../src/carriers/smpp/tlv.ts';
import { CLIENT_ID_TAG } from '../../src/messaging/smpp-server/read-submit.ts';

const head = { status: 0, sequence: 1 };
const message = {
  ...EMPTY_MESSAGE,
  sourceTon: 5,
  source: 'Acme',
  destTon: 1,
  destNpi: 1,
  destination: '393331234567',
  registeredDelivery: 0x11,
};
const hello = { shortMessage: Buffer.from('Hello') };
const from = { sourceTon: 5, sourceNpi: 0, source: 'Acme' };
const to = { destTon: 1, destNpi: 1, destination: '393331234567' };
const id = { messageId: '0193b6f1-7a51-7e3c-9d2e-5b0c1f2ad500' };

/** The body of a bind. */
export const bindBody = (systemId: string, password: string): Bind => ({
  systemId,
  password,
  systemType: '',
  interfaceVersion: 0x34,
  addrTon: 0,
  addrNpi: 0,
  addressRange: '',
});

/** A submit that the server accepts. */
export const VALID_SUBMIT: Buffer = encodePdu({ command: 'submit_sm', ...head, ...message, ...hello });

/** Valid PDUs of a customer, which the mutations start from. */
export const CUSTOMER_SAMPLES: readonly Buffer[] = [
  VALID_SUBMIT,
  ...(
    [
      { command: 'bind_transceiver', ...head, ...bindBody('nobody', 'secret') },
      {
        command: 'submit_sm',
        ...head,
        ...message,
        ...hello,
        scheduleTime: '000001000000000R',
        validity: '000002000000000R',
      },
      {
        command: 'submit_sm',
        ...head,
        ...message,
        esmClass: 0x40,
        shortMessage: Buffer.from('0500034202014142', 'hex'),
      },
      {
        command: 'submit_sm',
        ...head,
        ...message,
        dataCoding: 8,
        tlvs: new Map([[TAG.message_payload, Buffer.alloc(200, 'ab')]]),
      },
      {
        command: 'submit_sm',
        ...head,
        ...message,
        ...hello,
        tlvs: new Map([[CLIENT_ID_TAG, cStringValue('order-1')]]),
      },
      { command: 'data_sm', ...head, ...message, tlvs: new Map([[TAG.message_payload, Buffer.from('Hello')]]) },
      {
        command: 'submit_multi',
        ...head,
        ...message,
        ...hello,
        destinations: [{ ton: 1, npi: 1, address: '393331234567' }, { list: 'all' }],
      },
      { command: 'query_sm', ...head, ...from, ...id },
      { command: 'cancel_sm', ...head, ...from, ...to, ...id, serviceType: '' },
      {
        command: 'replace_sm',
        ...head,
        ...from,
        ...id,
        ...hello,
        scheduleTime: '',
        validity: '',
        registeredDelivery: 1,
        defaultMessageId: 0,
        tlvs: NO_TLVS,
      },
      { command: 'deliver_sm_resp', ...head, messageId: '', tlvs: NO_TLVS },
      { command: 'deliver_sm_resp', ...head, status: 0x64, messageId: '', tlvs: NO_TLVS },
      { command: 'enquire_link', ...head },
      { command: 'enquire_link_resp', ...head },
      { command: 'generic_nack', ...head, status: 3 },
      { command: 'unbind_resp', ...head },
    ] satisfies Pdu[]
  ).map(encodePdu),
];
