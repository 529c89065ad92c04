import type { Socket } from 'node:net';
import { encodePdu } from '../../src/carriers/smpp/pdu.ts';
import { between, type RandomSource } from '../lib/proof.ts';

const ANSWER_WITHIN_MS = 1000;
const REPROBE_MS = 100;
/** More octets than any PDU may have, so that a peer that waits for the rest of a PDU gets it. */
const FLOOD_OCTETS = 80_000;

/** Finds out whether a peer still answers. */
export type Probe = {
  /** To be called with what the peer sends: the sequence number of an enquire_link_resp, a generic_nack, or its end. */
  heard(what: number | 'nack' | 'close'): void;
  /** Resolves with whether the peer answers an enquire_link, or closes, within a second. */
  answersOrCloses(): Promise<boolean>;
};

/**
 * Creates a probe that sends enquire_link. If it is not answered, it sends so many that an incomplete PDU before them becomes
 * complete. The peer then reads them from the wrong octet on, where they are not PDUs, and generic_nack is the right answer.
 */
export function createProbe(chance: RandomSource, socket: Socket): Probe {
  let heard: Probe['heard'] = () => undefined;
  return {
    heard: (what) => heard(what),
    async answersOrCloses() {
      if (socket.destroyed) return true;
      const answer = Promise.withResolvers<boolean>();
      const probe = between(chance, 1_000_000, 0x7fffffff);
      const enquiry = encodePdu({ command: 'enquire_link', status: 0, sequence: probe });
      let flooded = false;
      heard = (what) => {
        if (what === probe || what === 'close' || (what === 'nack' && flooded)) answer.resolve(true);
      };
      socket.write(enquiry);
      const reprobe = setTimeout(() => {
        flooded = true;
        socket.write(Buffer.concat(Array.from({ length: FLOOD_OCTETS / enquiry.length }, () => enquiry)));
      }, REPROBE_MS);
      const late = setTimeout(() => answer.resolve(false), ANSWER_WITHIN_MS);
      const result = await answer.promise;
      clearTimeout(reprobe);
      clearTimeout(late);
      return result;
    },
  };
}
