/** Type of number and numbering plan (protocol sheet smpp, section 5). */
export type TonNpi = { readonly ton: number; readonly npi: number };
export type SmppAddress = TonNpi & { readonly addr: string };

/** What differs between carriers; what is left out is as the sheet's table has it. */
export type AddressSettings = {
  /** A sender with anything but digits in it; default 5/0. */
  readonly alphaAddress?: TonNpi;
  /** A sender of more than 6 digits, or with a plus; default 1/1. */
  readonly longAddress?: TonNpi;
  /** A sender of at most 6 digits; carriers differ here most; default 3/0. */
  readonly shortAddress?: TonNpi;
  /** Default 1/1. */
  readonly destinationAddress?: TonNpi;
  /** Send the plus of international numbers too; default false. */
  readonly plusPrefix?: boolean;
};

const ALPHA: TonNpi = { ton: 5, npi: 0 };
const SHORT: TonNpi = { ton: 3, npi: 0 };
const INTERNATIONAL: TonNpi = { ton: 1, npi: 1 };

const LONGEST_SHORT_CODE = 6;
const NUMBER = /^\+?\d+$/;

/** The address fields of a sender as `Submission.sender` has it: text, a number, a short code, or empty for 0/0. */
export function sourceAddress(sender: string, settings: AddressSettings = {}): SmppAddress {
  if (sender === '') return { ton: 0, npi: 0, addr: '' };
  if (!NUMBER.test(sender)) return addressOf(settings.alphaAddress ?? ALPHA, sender);
  if (sender.length <= LONGEST_SHORT_CODE && !sender.startsWith('+')) {
    return addressOf(settings.shortAddress ?? SHORT, sender);
  }
  return addressOf(settings.longAddress ?? INTERNATIONAL, international(sender, settings));
}

/** The address fields of a destination in E.164 with its plus. */
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
