/** A number as inbound messages are kept and owned by it: as the carrier writes it, without a plus. */
export const plainNumber = (written: string): string => written.replace(/^\+(?=\d)/, '');
