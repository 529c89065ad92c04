import { bindLibrary, textOf } from '../../carriers/smpp-library-client.ts';
import { ensure } from '../checks.ts';
import type { EsmePeer } from '../esme-checks.ts';

const BINDS = { trx: 'transceiver', tx: 'transmitter', rx: 'receiver', 'tx+rx': 'transceiver' } as const;
const ESME_RTHROTTLED = 0x58;
const SEGMENT = 153;
let reference = 0;

/** The npm package `smpp` as a client; a session that is lost is lost. */
export const LIBRARY_CLIENT: EsmePeer = {
  name: 'npm smpp (client)',
  binds: ['trx', 'tx', 'rx'],
  reconnects: false,
  async connect({ port, bind, window }) {
    const client = await bindLibrary(port, BINDS[bind]);
    ensure(client.bound.command_status === 0, `the bind was refused with ${client.bound.command_status}`);
    let open = 0;
    async function submit(destination: string, short_message: unknown, fields: object): Promise<void> {
      while (open >= window) await new Promise((resolve) => setImmediate(resolve));
      open += 1;
      const { command_status } = await client.submit(destination, { short_message, ...fields });
      open -= 1;
      if (command_status === ESME_RTHROTTLED) return submit(destination, short_message, fields);
      ensure(command_status === 0, `submit_sm got ${command_status}`);
    }
    return {
      async send(destination, text) {
        const data_coding = /^[\x20-\x7e€\n]*$/.test(text) ? 0 : 8;
        if (text.length <= 160) return submit(destination, text, { data_coding });
        reference = (reference + 1) % 256;
        const total = Math.ceil(text.length / SEGMENT);
        for (let seq = 1; seq <= total; seq += 1) {
          const message = text.slice((seq - 1) * SEGMENT, seq * SEGMENT);
          const udh = Buffer.from([5, 0, 3, reference, total, seq]);
          await submit(destination, { udh, message }, { data_coding, esm_class: 0x40 });
        }
      },
      delivered: () =>
        client.received
          .filter((pdu) => pdu.command === 'deliver_sm' && textOf(pdu).includes('stat:DELIVRD'))
          .map((pdu) => String(pdu['source_addr'])),
      async close() {
        await client.request('unbind').catch(() => undefined);
        await client.close();
      },
    };
  },
};
