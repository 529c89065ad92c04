/**
 * Hours in which marketing messages may be sent, by country and state. They were collected from public documents and
 * are no legal advice. Where sources differ, the narrower hours count. Most of these laws name calls; regulators and
 * courts apply several of them to texts, so all of them count here. The sources were read on 2026-11-29 and 30.
 */
export type CalendarRule = {
  /** Countries (ISO 3166-1 alpha-2), states (US-TX), or `US-?` for numbers of the United States that show no state. */
  readonly places: readonly string[];
  /** `HH:MM-HH:MM` in the time of the recipient, the end exclusive; null: nothing is sent that day. */
  readonly weekdays: string;
  /** Hours of Saturdays; as on weekdays if omitted. */
  readonly saturday?: string | null;
  readonly sunday?: string | null;
  /** Hours on public holidays; omitted: as on any other day. */
  readonly holiday?: string | null;
  /** Hours on the day before a public holiday. */
  readonly eve?: string;
  readonly source: string;
};

const STATES = 'https://www.dropcowboy.com/state-compliance';

export const CALENDAR_RULES: readonly CalendarRule[] = [
  {
    // Until 22:00 by https://help.brevo.com/hc/en-us/articles/11884482521234; the narrower source is that of the operators.
    places: ['FR', 'GP', 'MQ', 'GF', 'RE', 'YT'],
    weekdays: '08:00-20:00',
    sunday: null,
    holiday: null,
    source: 'https://sendtargetsms.com/fr/horaires-legaux-sms/',
  },
  {
    // Article 96.2 of the Ley General para la Defensa de los Consumidores y Usuarios, as the government of Andalusia quotes it.
    places: ['ES'],
    weekdays: '09:00-21:00',
    saturday: null,
    sunday: null,
    holiday: null,
    source:
      'https://www.consumoresponde.es/art%C3%ADculos/normativa_sobre_spam_telefonico_tanto_de_llamadas_como_de_mensajes',
  },
  {
    // Code of conduct for telemarketing, Garante per la protezione dei dati personali, 7 March 2024.
    places: ['IT'],
    weekdays: '09:00-20:00',
    saturday: '10:00-19:00',
    sunday: null,
    holiday: null,
    eve: '10:00-19:00',
    source:
      'https://www.pmi.it/impresa/pubblicita-e-marketing/453002/telemarketing-le-nuove-regole-e-le-fasce-orarie-permesse.html',
  },
  {
    // Operators reject promotional messages at other hours since October 2025 (651, EC_INVALID_PROMO_TIME).
    places: ['IN'],
    weekdays: '10:00-21:00',
    source:
      'https://crm.smsgatewayhub.com/knowledge-base/article/important-update-new-service-explicit-message-restriction-time-10-am-to-9-pm',
  },
  {
    // 47 CFR 64.1200(c)(1), which the page quotes.
    places: ['US', 'PR', 'VI', 'GU', 'AS', 'MP'],
    weekdays: '08:00-21:00',
    source: 'https://www.nwdebtresolution.com/post/telephone-consumer-protection-act-call-time-restrictions',
  },
  // The narrowest of the states with many people: Connecticut's hours, and the Sundays of Texas.
  { places: ['US-?'], weekdays: '09:00-20:00', sunday: '12:00-20:00', source: STATES },
  { places: ['US-AL', 'US-LA'], weekdays: '08:00-20:00', sunday: null, holiday: null, source: STATES },
  { places: ['US-CT', 'US-NV'], weekdays: '09:00-20:00', source: STATES },
  { places: ['US-FL', 'US-MA', 'US-MD', 'US-OK'], weekdays: '08:00-20:00', source: STATES },
  { places: ['US-KY'], weekdays: '10:00-21:00', source: STATES },
  { places: ['US-MI', 'US-MN', 'US-NM'], weekdays: '09:00-21:00', source: STATES },
  { places: ['US-MS'], weekdays: '08:00-20:00', sunday: null, holiday: null, source: STATES },
  {
    places: ['US-NJ'],
    weekdays: '08:00-20:00',
    source:
      'https://support.referrizer.com/en/category/text-campaigns/article/tcpa-quiet-hours-and-state-specific-rules-for-text-campaigns',
  },
  { places: ['US-PA'], weekdays: '08:00-21:00', holiday: null, source: 'https://dnc.com/holiday-alerts?year=2023' },
  {
    places: ['US-RI'],
    weekdays: '09:00-18:00',
    saturday: '10:00-17:00',
    sunday: '10:00-17:00',
    holiday: null,
    source:
      'https://support.referrizer.com/en/category/text-campaigns/article/tcpa-quiet-hours-and-state-specific-rules-for-text-campaigns',
  },
  {
    places: ['US-TX'],
    weekdays: '09:00-21:00',
    sunday: '12:00-21:00',
    source:
      'https://support.referrizer.com/en/category/text-campaigns/article/tcpa-quiet-hours-and-state-specific-rules-for-text-campaigns',
  },
  { places: ['US-UT'], weekdays: '08:00-21:00', holiday: null, source: 'https://dnc.com/holiday-alerts?year=2023' },
  {
    // The CRTC allows calls until 21:30 on weekdays; texts stop at 20:00 with vendors (help.getvero.com).
    places: ['CA'],
    weekdays: '09:00-20:00',
    saturday: '10:00-18:00',
    sunday: '10:00-18:00',
    source: 'https://crtc.gc.ca/eng/phone/telemarketing/tobligations/rules-regles.htm',
  },
  {
    // Also Monday to Friday from 9 to 21, Saturday from 12 to 18 (support.omnisend.com).
    places: ['BR'],
    weekdays: '09:00-18:00',
    saturday: '09:00-13:00',
    sunday: null,
    holiday: null,
    source: 'https://help.clicksend.com/article/an2xy6g7zu-brazil',
  },
  {
    // Networks delay or reject promotional messages at other hours
    // (docs.aws.amazon.com/end-user-messaging/latest/userguide/nx-rcs-launch-mx-promotional.html names none).
    places: ['MX'],
    weekdays: '08:00-20:00',
    source: 'https://help.getvero.com/vero-2/articles/sms-quiet-hours-compliance',
  },
  {
    // Telecommunications (Telemarketing and Research Calls) Industry Standard.
    places: ['AU'],
    weekdays: '09:00-20:00',
    saturday: '09:00-17:00',
    sunday: null,
    holiday: null,
    source: 'https://commerce.wa.gov.au/consumer-protection/times-allowed-contact-consumers',
  },
  { places: ['RU'], weekdays: '09:00-22:00', source: 'https://smscentre.com/faq/165/' },
  {
    places: ['KZ'],
    weekdays: '09:00-22:00',
    source: 'https://help.getvero.com/vero-2/articles/sms-quiet-hours-compliance',
  },
  {
    // No law: carriers state this to their customers.
    places: ['GB', 'BE'],
    weekdays: '09:00-20:00',
    source: 'https://support.ometria.com/hc/en-gb/articles/19820202385437-SMS-country-specific-marketing-compliance',
  },
  {
    // No law: carriers state this to their customers.
    places: ['DE', 'IE', 'NL', 'NZ'],
    weekdays: '08:00-20:00',
    source: 'https://kb.zap.co.uk/docs/a-guide-to-sms-quiet-hours/',
  },
];

/** Public holidays of a country or state; a place may have several entries. */
type Holidays = {
  readonly places: readonly string[];
  /** Those on the same day each year, as MM-DD. */
  readonly fixed: readonly string[];
  /** Those on another day, by year. */
  readonly moving: Readonly<Record<number, readonly string[]>>;
  readonly source: string;
};

/** The last year whose moving holidays are listed. */
export const HOLIDAYS_UNTIL = 2030;

/** Days on which states prohibit telemarketing, by name. */
const PROHIBITED = 'https://vicifast.com/blog/what-are-telemarketing-prohibited-holidays';

export const HOLIDAYS: readonly Holidays[] = [
  {
    // Easter Monday, Ascension, Whit Monday. Article L3133-1 of the Code du travail.
    places: ['FR', 'GP', 'MQ', 'GF', 'RE', 'YT'],
    fixed: ['01-01', '05-01', '05-08', '07-14', '08-15', '11-01', '11-11', '12-25'],
    moving: {
      2026: ['04-06', '05-14', '05-25'],
      2027: ['03-29', '05-06', '05-17'],
      2028: ['04-17', '05-25', '06-05'],
      2029: ['04-02', '05-10', '05-21'],
      2030: ['04-22', '05-30', '06-10'],
    },
    source: 'https://www.service-public.gouv.fr/particuliers/vosdroits/F2405',
  },
  {
    // Good Friday; the holidays of the regions are not known from a number.
    places: ['ES'],
    fixed: ['01-01', '01-06', '05-01', '08-15', '10-12', '11-01', '12-06', '12-08', '12-25'],
    moving: { 2026: ['04-03'], 2027: ['03-26'], 2028: ['04-14'], 2029: ['03-30'], 2030: ['04-19'] },
    source: 'https://www.boe.es/buscar/act.php?id=BOE-A-1983-20946',
  },
  {
    // Easter Monday; 4 October since 2026 (law 151/2025).
    places: ['IT'],
    fixed: ['01-01', '01-06', '04-25', '05-01', '06-02', '08-15', '10-04', '11-01', '12-08', '12-25', '12-26'],
    moving: { 2026: ['04-06'], 2027: ['03-29'], 2028: ['04-17'], 2029: ['04-02'], 2030: ['04-22'] },
    source: 'https://www.assolombarda.it/servizi/lavoro-e-previdenza/informazioni/festa-nazionale-di-san-francesco',
  },
  {
    // Good Friday and Easter Monday, as the standard for telemarketing names the national holidays.
    places: ['AU'],
    fixed: ['01-01', '01-26', '04-25', '12-25', '12-26'],
    moving: {
      2026: ['04-03', '04-06'],
      2027: ['03-26', '03-29'],
      2028: ['04-14', '04-17'],
      2029: ['03-30', '04-02'],
      2030: ['04-19', '04-22'],
    },
    source: 'https://www.legislation.gov.au/F2017L00323/latest/text',
  },
  {
    // Good Friday; carnival and Corpus Christi are no holidays by law.
    places: ['BR'],
    fixed: ['01-01', '04-21', '05-01', '09-07', '10-12', '11-02', '11-15', '11-20', '12-25'],
    moving: { 2026: ['04-03'], 2027: ['03-26'], 2028: ['04-14'], 2029: ['03-30'], 2030: ['04-19'] },
    source: 'https://www.planalto.gov.br/ccivil_03/leis/2002/l10607.htm',
  },
  {
    // The federal holidays: Martin Luther King, Washington, Memorial Day, Labor Day, Columbus, Thanksgiving, and the days
    // on which those on a weekend are observed.
    places: ['US-AL', 'US-LA', 'US-MS', 'US-PA', 'US-RI', 'US-UT'],
    fixed: ['01-01', '06-19', '07-04', '11-11', '12-25'],
    moving: {
      2026: ['01-19', '02-16', '05-25', '07-03', '09-07', '10-12', '11-26'],
      2027: ['01-18', '02-15', '05-31', '06-18', '07-05', '09-06', '10-11', '11-25', '12-24', '12-31'],
      2028: ['01-17', '02-21', '05-29', '09-04', '10-09', '11-10', '11-23'],
      2029: ['01-15', '02-19', '05-28', '09-03', '10-08', '11-12', '11-22'],
      2030: ['01-21', '02-18', '05-27', '09-02', '10-14', '11-28'],
    },
    source: 'https://www.opm.gov/policy-data-oversight/pay-leave/federal-holidays/',
  },
  {
    // Mardi Gras, which is a holiday in two counties; Confederate Memorial Day, Jefferson Davis' birthday.
    places: ['US-AL'],
    fixed: ['12-01'],
    moving: {
      2026: ['02-17', '04-27', '06-01'],
      2027: ['02-09', '04-26', '06-07'],
      2028: ['02-29', '04-24', '06-05'],
      2029: ['02-13', '04-23', '06-04'],
      2030: ['03-05', '04-22', '06-03'],
    },
    source: PROHIBITED,
  },
  {
    // Mardi Gras, Good Friday, election day, the day after Thanksgiving. Sources differ about the fixed ones.
    places: ['US-LA'],
    fixed: ['01-08', '01-19', '06-03'],
    moving: {
      2026: ['02-17', '04-03', '11-03', '11-27'],
      2027: ['02-09', '03-26', '11-02', '11-26'],
      2028: ['02-29', '04-14', '11-07', '11-24'],
      2029: ['02-13', '03-30', '11-06', '11-23'],
      2030: ['03-05', '04-19', '11-05', '11-29'],
    },
    source: PROHIBITED,
  },
  {
    // Confederate Memorial Day.
    places: ['US-MS'],
    fixed: [],
    moving: { 2026: ['04-27'], 2027: ['04-26'], 2028: ['04-24'], 2029: ['04-30'], 2030: ['04-29'] },
    source: PROHIBITED,
  },
  {
    // Good Friday, election day.
    places: ['US-PA'],
    fixed: ['06-14'],
    moving: {
      2026: ['04-03', '11-03'],
      2027: ['03-26', '11-02'],
      2028: ['04-14', '11-07'],
      2029: ['03-30', '11-06'],
      2030: ['04-19', '11-05'],
    },
    source: PROHIBITED,
  },
  {
    // Victory Day, election day.
    places: ['US-RI'],
    fixed: ['05-04'],
    moving: {
      2026: ['08-10', '11-03'],
      2027: ['08-09', '11-02'],
      2028: ['08-14', '11-07'],
      2029: ['08-13', '11-06'],
      2030: ['08-12', '11-05'],
    },
    source: PROHIBITED,
  },
  {
    // Pioneer Day, observed on the Friday before if it is a Saturday.
    places: ['US-UT'],
    fixed: ['07-24'],
    moving: { 2026: [], 2027: ['07-23'], 2028: [], 2029: [], 2030: [] },
    source: PROHIBITED,
  },
];
