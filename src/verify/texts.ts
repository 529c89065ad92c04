import type { FieldError } from '../core/errors.ts';
import { fillPlaceholders, placeholderNames } from '../core/schema.ts';
import { withDigits } from '../messages/codes.ts';
import { countParts } from '../smpp/text.ts';

/**
 * Texts of codes by language (BCP 47). Each is one part of GSM 03.38 with a brand of 11 characters: letters outside that
 * alphabet are written without their marks, as is usual in SMS of these languages, and Greek in the capitals that the
 * alphabet has. The code comes first, so that a notification shows it, and no text has a link.
 */
export const TEXTS: Readonly<Record<string, string>> = {
  af: '{{code}} is jou {{brand}}-kode. Dit verval oor {{minutes}} minute. Moenie dit deel nie.',
  bs: '{{code}} je vas {{brand}} kod. Istice za {{minutes}} minuta. Nemojte ga dijeliti.',
  ca: '{{code}} és el teu codi de {{brand}}. Caduca en {{minutes}} minuts. No el comparteixis.',
  cs: '{{code}} je vas kod {{brand}}. Plati {{minutes}} minut. S nikym ho nesdilejte.',
  da: '{{code}} er din kode til {{brand}}. Den udløber om {{minutes}} minutter. Del den ikke.',
  de: '{{code}} ist dein Code für {{brand}}. Er gilt {{minutes}} Minuten. Gib ihn nicht weiter.',
  el: '{{code}} EINAI O KΩΔIKOΣ ΣAΣ ΓIA {{brand}}. IΣXYEI {{minutes}} ΛEΠTA. MHN TON MOIPAZEΣTE.',
  en: '{{code}} is your {{brand}} code. It expires in {{minutes}} minutes. Do not share it.',
  es: '{{code}} es tu codigo de {{brand}}. Caduca en {{minutes}} minutos. No lo compartas.',
  et: '{{code}} on teie {{brand}} kood. See kehtib {{minutes}} minutit. Ärge jagage seda.',
  fi: '{{code}} on koodisi palveluun {{brand}}. Se vanhenee {{minutes}} minuutissa. Älä jaa sitä.',
  fil: '{{code}} ang iyong {{brand}} code. Mag-e-expire ito sa loob ng {{minutes}} minuto. Huwag itong ibahagi.',
  fr: '{{code}} est votre code {{brand}}. Il expire dans {{minutes}} minutes. Ne le partagez pas.',
  hr: '{{code}} je vas {{brand}} kod. Istjece za {{minutes}} minuta. Nemojte ga dijeliti.',
  hu: '{{code}} az On {{brand}} kodja. {{minutes}} percig ervenyes. Ne ossza meg senkivel.',
  id: '{{code}} adalah kode {{brand}} Anda. Berlaku {{minutes}} menit. Jangan bagikan.',
  it: '{{code}} è il tuo codice {{brand}}. Scade tra {{minutes}} minuti. Non condividerlo.',
  lt: '{{code}} yra jusu {{brand}} kodas. Galioja {{minutes}} min. Niekam jo nesakykite.',
  lv: '{{code}} ir jusu {{brand}} kods. Tas ir derigs {{minutes}} minutes. Neizpaudiet to.',
  ms: '{{code}} ialah kod {{brand}} anda. Sah selama {{minutes}} minit. Jangan kongsi.',
  nb: '{{code}} er koden din for {{brand}}. Den utløper om {{minutes}} minutter. Ikke del den.',
  nl: '{{code}} is je code voor {{brand}}. Hij verloopt over {{minutes}} minuten. Deel hem niet.',
  pl: '{{code}} to Twoj kod {{brand}}. Wygasa za {{minutes}} min. Nie udostepniaj go nikomu.',
  pt: '{{code}} é o seu codigo {{brand}}. Expira em {{minutes}} minutos. Nao o partilhe.',
  ro: '{{code}} este codul tau {{brand}}. Expira in {{minutes}} minute. Nu il comunica nimanui.',
  sk: '{{code}} je vas kod {{brand}}. Plati {{minutes}} minut. S nikym ho nezdielajte.',
  sl: '{{code}} je vasa koda {{brand}}. Velja {{minutes}} minut. Ne delite je z nikomer.',
  sq: '{{code}} eshte kodi juaj {{brand}}. Skadon pas {{minutes}} minutash. Mos e ndani me askend.',
  sr: '{{code}} je vas {{brand}} kod. Istice za {{minutes}} minuta. Nemojte ga deliti.',
  sv: '{{code}} är din kod för {{brand}}. Den gäller i {{minutes}} minuter. Dela den inte.',
  sw: '{{code}} ni nambari yako ya {{brand}}. Itaisha baada ya dakika {{minutes}}. Usimpe mtu.',
  tr: '{{code}} {{brand}} kodunuz. {{minutes}} dakika gecerlidir. Kimseyle paylasmayin.',
  vi: '{{code}} la ma {{brand}} cua ban. Het han sau {{minutes}} phut. Khong chia se ma nay.',
};

/** Target that fills the code in automatically: a page on the web, or an Android app. */
export type Autofill = {
  /** The host of the page (WebOTP: wicg.github.io/sms-one-time-codes). */
  readonly web?: string | undefined;
  /** The hash of the app's signature (developers.google.com/identity/sms-retriever/verify). */
  readonly android?: string | undefined;
};

/** The parts of a service that its texts need. */
export type TextSettings = {
  readonly brand: string;
  readonly ttl: number;
  /** The service's own texts, by language. */
  readonly locales?: Readonly<Record<string, string>> | undefined;
  readonly autofill?: Autofill | undefined;
};

/** Returns the language of the texts for a tag such as `pt-BR`: that language, its base, or English. */
export function languageFor({ locales = {} }: Pick<TextSettings, 'locales'>, tag = 'en'): string {
  const [base = 'en'] = tag.toLowerCase().split(/[-_]/);
  const own = Object.keys(locales).find((name) => name.toLowerCase() === tag.toLowerCase());
  return own ?? (base in locales || base in TEXTS ? base : 'en');
}

/**
 * Returns the text of an SMS. `code` may be bullets. The line of the Android app and then that of the page end it, where
 * the service has them: browsers read the last line only.
 */
export function smsText(settings: TextSettings, language: string, code: string): string {
  const { android, web } = settings.autofill ?? {};
  const text = plainText(settings, language, code);
  return `${text}${android ? `\n${android}` : ''}${web ? `\n\n@${web} #${code}` : ''}`;
}

/** Returns the text without the lines that programs read. */
export function plainText({ brand, ttl, locales = {} }: TextSettings, language: string, code: string): string {
  const values: Readonly<Record<string, string>> = { code, brand, minutes: String(Math.ceil(ttl / 60)) };
  return fillPlaceholders(locales[language] ?? TEXTS[language] ?? TEXTS['en'] ?? '', (name) => values[name]);
}

/** The SMS Retriever of Android ignores longer messages. */
const MAX_ANDROID_BYTES = 140;
const KNOWN: ReadonlySet<string> = new Set(['code', 'brand', 'minutes']);

/** Returns the errors of a service's own texts, and of all texts together with its brand and the lines for programs. */
export function textFaults(settings: TextSettings, codeLength: number): FieldError[] {
  const own = Object.entries(settings.locales ?? {});
  const faults = own.flatMap(([language, text]) => {
    const names = placeholderNames(text);
    const unknown = names.find((name) => !KNOWN.has(name));
    if (!names.includes('code')) return [{ field: `locales.${language}`, message: 'must contain {{code}}' }];
    return unknown === undefined ? [] : [{ field: `locales.${language}`, message: `there is no {{${unknown}}}` }];
  });
  if (faults.length > 0) return faults;
  const code = '0'.repeat(codeLength);
  for (const language of [...Object.keys(TEXTS), ...own.map(([name]) => name)]) {
    const text = smsText(settings, language, code);
    const field = settings.locales?.[language] === undefined ? 'brand' : `locales.${language}`;
    if (countParts(withDigits(text)).parts > 1)
      return [{ field, message: `the text in ${language} must fit into one SMS` }];
    if (settings.autofill?.android && Buffer.byteLength(text) > MAX_ANDROID_BYTES)
      return [
        { field, message: `the text in ${language} exceeds the ${MAX_ANDROID_BYTES} bytes that Android apps read` },
      ];
  }
  return [];
}
