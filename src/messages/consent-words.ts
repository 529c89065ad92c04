import { foldText } from '../core/fold.ts';

/** Consent to further messages, as expressed by a message from a handset. */
type ConsentWord = 'stop' | 'start';
/** Kinds of words about messages; HELP asks who is writing. */
export const SAYINGS = ['STOP', 'START', 'HELP'] as const;
export type Saying = (typeof SAYINGS)[number];
/** What a message says about further messages, and the language of its word. */
export type Said = { readonly says: Saying; readonly language: string };

/**
 * Words that must be the whole message but for courtesies, by language, as `foldText` returns them. `STOP` and `START`
 * are understood in every language.
 */
const STOP_WORDS: Readonly<Record<string, string>> = {
  en: 'stop, stopall, stop all, unsubscribe, cancel, end, quit, opt out, optout, revoke',
  it: 'ferma, fermati, basta, disiscrivi, disiscrivimi, cancellami, cancella',
  es: 'alto, parar, pare, baja, cancelar, darse de baja, dar de baja',
  pt: 'parar, pare, sair, cancelar, remover, descadastrar',
  fr: 'arret, arrêt, arreter, arrêter, desabonner, désabonner, desinscription, désinscription',
  de: 'stopp, halt, abmelden, abbestellen, ende, kündigen, kuendigen',
  nl: 'stoppen, afmelden, uitschrijven',
  pl: 'koniec, rezygnuję, rezygnuje, wypisz',
  sv: 'stopp, avsluta, sluta, avregistrera',
  da: 'afmeld, afmelding',
  no: 'avmeld, slutt',
  fi: 'lopeta, peruuta, peru',
  cs: 'zrušit, zrusit, odhlásit, odhlasit, konec',
  sk: 'zrušiť, odhlásiť, koniec',
  hu: 'leiratkozás, leiratkozas, leiratkozom, lemondás',
  ro: 'dezabonare, oprește, opreste, renunț',
  hr: 'odjava, prekini, otkaži',
  el: 'στοπ, διακοπή, διακοπη',
  bg: 'стоп, спри, отказ',
  ru: 'стоп, отписаться, отписка, отмена',
  uk: 'стоп, відписатися',
  tr: 'dur, durdur, iptal, ret',
  he: 'הסר, הסירו, הסרה, עצור, עצרו',
  ar: 'توقف, إيقاف, ايقاف, الغاء, إلغاء, إلغاء الاشتراك',
  fa: 'لغو, توقف, انصراف',
  ur: 'بند, بند کریں, روکیں',
  hi: 'रोकें, रोको, बंद, बंद करें',
  bn: 'বন্ধ, বন্ধ করুন, থামুন',
  id: 'berhenti, batal, batalkan',
  vi: 'dừng, dừng lại, hủy, huỷ, từ chối',
  th: 'หยุด, ยกเลิก',
  zh: '停止, 退订, 退訂, 取消, 取消订阅, 取消訂閱, td',
  ja: '停止, 配信停止, 中止, 解除, ストップ',
  ko: '중지, 정지, 거부, 수신거부, 수신 거부, 스톱',
  sw: 'acha, komesha, simamisha',
  tl: 'itigil, ihinto',
};
const START_WORDS: Readonly<Record<string, string>> = {
  en: 'start, unstop, subscribe, opt in, optin',
  it: 'inizia, riprendi, iscrivimi',
  es: 'iniciar, empezar, alta, suscribir',
  pt: 'iniciar, começar, comecar, voltar',
  fr: "demarrer, démarrer, reprendre, s'abonner",
  de: 'starten, anmelden',
  nl: 'starten, aanmelden',
  pl: 'zapisz',
  sv: 'starta',
  da: 'tilmeld',
  fi: 'aloita',
  cs: 'začít, zacit, přihlásit, prihlasit',
  hu: 'feliratkozás, feliratkozom',
  ro: 'abonare',
  el: 'έναρξη, εναρξη',
  bg: 'старт',
  ru: 'старт, подписаться',
  uk: 'старт, підписатися',
  tr: 'başla, basla',
  he: 'התחל, הצטרף',
  ar: 'ابدأ, اشتراك',
  fa: 'شروع',
  hi: 'शुरू, शुरू करें',
  id: 'mulai',
  vi: 'bắt đầu',
  th: 'เริ่ม',
  zh: '开始, 開始, 订阅, 訂閱',
  ja: '開始, 再開, スタート',
  ko: '시작',
};
const HELP_WORDS: Readonly<Record<string, string>> = {
  en: 'help, info',
  it: 'aiuto',
  es: 'ayuda',
  pt: 'ajuda',
  fr: 'aide',
  de: 'hilfe',
  nl: 'hulp',
  pl: 'pomoc',
  sv: 'hjälp',
  da: 'hjælp',
  tr: 'yardım',
  id: 'bantuan',
};
/** Courtesies before or after a word, which do not change what it says. */
const COURTESIES =
  "please, pls, plz, thank you, thanks, thx, ty, per favore, grazie, por favor, gracias, obrigado, obrigada, s'il vous " +
  "plaît, s'il vous plait, svp, stp, merci, bitte, danke, alstublieft, alsjeblieft, bedankt, dank u, proszę, prosze, " +
  'dziękuję, dziekuje, tack, tak, takk, kiitos, prosím, prosim, děkuji, dekuji, ďakujem, köszönöm, vă rog, mulțumesc, ' +
  'hvala, παρακαλώ, παρακαλω, ευχαριστώ, ευχαριστω, моля, благодаря, пожалуйста, спасибо, будь ласка, дякую, lütfen, ' +
  'lutfen, teşekkürler, tesekkurler, teşekkür ederim, בבקשה, תודה, من فضلك, لو سمحت, شكرا, لطفا, متشکرم, براہ کرم, ' +
  'شکریہ, कृपया, धन्यवाद, দয়া করে, ধন্যবাদ, tolong, terima kasih, làm ơn, cảm ơn, กรุณา, ขอบคุณ, 请, 請, 谢谢, 謝謝, ' +
  'お願いします, ありがとう, 감사합니다, 부탁드립니다, tafadhali, asante, salamat';

const listOf = (words: string): string[] => words.split(', ').map(foldText);

/** The words of all languages; one that several have counts as that of the first. */
const WORDS: ReadonlyMap<string, Said> = new Map(
  [[HELP_WORDS, 'HELP'] as const, [START_WORDS, 'START'] as const, [STOP_WORDS, 'STOP'] as const].flatMap(
    ([languages, says]) =>
      Object.entries(languages)
        .toReversed()
        .flatMap(([language, words]) => listOf(words).map((word) => [word, { says, language }] as const)),
  ),
);

const escaped = listOf(COURTESIES)
  .toSorted((a, b) => b.length - a.length)
  .join('|');
const COURTESY_BEFORE = new RegExp(`^(?:${escaped}) `);
const COURTESY_AFTER = new RegExp(` (?:${escaped})$`);

/** Longer messages say more than a word. */
const MAX_CONSENT_LENGTH = 80;
/** Matches from the first letter to the last: quotes, dots and exclamation marks around the words are not part of it. */
const LETTERS = /\p{L}(?:.*[\p{L}\p{M}])?/su;
/** Separators between words; each run counts as one space. */
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}']+/gu;

/** Words of an account, as `wordIn` returns them. */
export type OwnWords = ReadonlyMap<string, Said>;
const NO_WORDS: OwnWords = new Map();

/**
 * Returns a message without what does not change its meaning: marks, case, courtesies ("Stop. Thank you"). Null: it is
 * too long for a word.
 */
export function wordIn(text: string): string | null {
  if (text.length > MAX_CONSENT_LENGTH) return null;
  const [letters = ''] = LETTERS.exec(foldText(text).replaceAll('’', "'")) ?? [];
  let said = letters.replace(BETWEEN_WORDS, ' ');
  for (let shorter = withoutCourtesy(said); shorter !== said; shorter = withoutCourtesy(said)) said = shorter;
  return said;
}

/**
 * Returns what a message says about further messages, or null. One that merely contains one of the words ("when does
 * the sale end?") says nothing; repetitions ("STOP STOP") add nothing. The words of the account come first.
 */
export function saidIn(text: string, own: OwnWords = NO_WORDS): Said | null {
  const said = wordIn(text);
  if (said === null) return null;
  const known = own.get(said) ?? WORDS.get(said);
  if (known !== undefined) return known;
  const [first = '', ...others] = said.split(' ');
  return others.every((word) => word === first) ? (own.get(first) ?? WORDS.get(first) ?? null) : null;
}

/** Returns the consent that a message expresses by a word that every account has, or null. */
export function consentWordOf(text: string): ConsentWord | null {
  const { says } = saidIn(text) ?? {};
  return says === 'STOP' ? 'stop' : says === 'START' ? 'start' : null;
}

const withoutCourtesy = (said: string): string => said.replace(COURTESY_AFTER, '').replace(COURTESY_BEFORE, '');

/** The longest message that may be a wish in other words; longer ones say more. */
const MAX_WISH_LENGTH = 160;

/**
 * Phrases of messages that probably ask for no more messages, by language. "Any reasonable means" of revoking consent
 * count in the United States (47 CFR 64.1200(a)(10)), not only the usual words.
 */
const WISHES: Readonly<Record<string, string>> = {
  en:
    "don't text me, do not text me, dont text me, don't message me, do not message me, don't contact me, do not contact " +
    "me, dont contact me, don't write to me, stop texting, stop messaging, stop sending, stop contacting, stop writing, " +
    'no more messages, no more texts, remove me, take me off, unsubscribe me, leave me alone, opt me out, please stop',
  it:
    'non scrivermi, non scrivetemi, non mi scriva, non mi scrivete, non contattatemi, non contattarmi, smettetela, ' +
    'smettila di, smettete di, toglietemi, rimuovetemi, cancellatemi, basta messaggi, non voglio più, non voglio piu',
  es:
    'no me escriban, no me escribas, no me escriba, no me envien, no me envíen, no quiero más mensajes, no quiero mas ' +
    'mensajes, dejen de, deja de escribir, bórrenme, borrenme, eliminenme, no me contacten',
  pt: 'não me envie, nao me envie, não me mande, nao me mande, não quero mais, nao quero mais, pare de, me remova',
  fr:
    "ne m'écrivez plus, ne m'ecrivez plus, ne m'envoyez plus, ne me contactez plus, arrêtez de, arretez de, " +
    'plus de messages, retirez-moi, supprimez-moi, laissez-moi tranquille, désabonnez-moi',
  de:
    'keine nachrichten mehr, keine sms mehr, schreiben sie mir nicht, schreibt mir nicht, nicht mehr schreiben, hören ' +
    'sie auf, hört auf, lassen sie mich in ruhe, lasst mich in ruhe, bitte löschen, melden sie mich ab',
  nl: 'geen berichten meer, stop met, verwijder mij, schrijf me niet, stuur me niet, laat me met rust',
  pl: 'nie pisz, nie piszcie, proszę nie pisać, nie wysyłajcie, nie chcę więcej',
};
const ALL_WISHES = Object.values(WISHES).flatMap(listOf);

/** Returns the phrase by which a message probably asks for no more messages; null: it does not. */
export function wishIn(text: string): string | null {
  if (text.length > MAX_WISH_LENGTH) return null;
  const said = ` ${foldText(text).replaceAll('’', "'").replace(BETWEEN_WORDS, ' ').trim()} `;
  return ALL_WISHES.find((wish) => said.includes(` ${wish.replace(BETWEEN_WORDS, ' ')} `)) ?? null;
}
