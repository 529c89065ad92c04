import { cStringValue, TAG, type Tlvs, uint8 } from './tlv.ts';

const STATE_VALUES = Array.from({ length: 10 }, (_, state) => uint8(state));
/** The network type GSM in network_error_code. */
const GSM = 3;

/**
 * Builds the optional parameters of a receipt (SMPP 3.4, appendix B): the id, message_state and, unless it is 0,
 * the error as a code of a GSM network.
 */
export function receiptTlvs({ id, state, error }: { id: string; state: number; error: number }): Tlvs {
  const tlvs = new Map<number, Uint8Array>([
    [TAG.receipted_message_id, cStringValue(id)],
    [TAG.message_state, STATE_VALUES[state] ?? uint8(state)],
  ]);
  if (error > 0) tlvs.set(TAG.network_error_code, Uint8Array.of(GSM, error >> 8, error));
  return tlvs;
}
