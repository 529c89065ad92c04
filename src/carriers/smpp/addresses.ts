/** Type of number and numbering plan (SMPP 3.4, 5.2.5 and 5.2.6). */
export type TonNpi = { readonly ton: number; readonly npi: number };
/** The address fields of one party of a message. */
export type SmppAddress = TonNpi & { readonly addr: string };

/** Addressing rules that differ between carriers; the defaults suit most of them. */
export type AddressSettings = {
  /** Address type of a sender with any character other than digits; default 5/0. */
  readonly alphaAddress?: TonNpi;
  /** Address type of a sender of more than 6 digits, or with a plus sign; default 1/1. */
  readonly longAddress?: TonNpi;
  /** Address type of a sender of at most 6 digits; carriers differ most here; default 3/0. */
  readonly shortAddress?: TonNpi;
  /** Address type of every destination; default 1/1. */
  readonly destinationAddress?: TonNpi;
  /** True if international numbers keep their plus sign; default false. */
  readonly plusPrefix?: boolean;
};

const ALPHA: TonNpi = { ton: 5, npi: 0 };
const SHORT: TonNpi = { ton: 3, npi: 0 };
const INTERNATIONAL: TonNpi = { ton: 1, npi: 1 };

const MAX_SHORT_CODE_DIGITS = 6;
const NUMBER = /^\+?\d+$/;

/** Returns the address fields of a `Submission.sender`: a text, a number, a short code, or an empty string for 0/0. */
export function sourceAddress(sender: string, settings: AddressSettings = {}): SmppAddress {
  if (sender === '') return { ton: 0, npi: 0, addr: '' };
  if (!NUMBER.test(sender)) return addressOf(settings.alphaAddress ?? ALPHA, sender);
  if (sender.length <= MAX_SHORT_CODE_DIGITS && !sender.startsWith('+')) {
    return addressOf(settings.shortAddress ?? SHORT, sender);
  }
  return addressOf(settings.longAddress ?? INTERNATIONAL, international(sender, settings));
}

/** Returns the address fields of a destination in E.164 with its plus sign. */
export function destinationAddress(e164: string, settings: AddressSettings = {}): SmppAddress {
  return addressOf(settings.destinationAddress ?? INTERNATIONAL, international(e164, settings));
}

function addressOf({ ton, npi }: TonNpi, addr: string): SmppAddress {
  return { ton, npi, addr };
}

function international(number: string, settings: AddressSettings): string {
  const digits = number.startsWith('+') ? number.slice(1) : number;
  return settings.plusPrefix ? `+${digits}` : digits;
}
