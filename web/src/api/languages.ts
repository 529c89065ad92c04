/** The languages of the console and of the program's mails. */
export const LANGUAGES = ['en', 'it', 'es', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

export const isLanguage = (text: string): text is Language => LANGUAGES.some((language) => language === text);

/** The language of a page as the API takes it, for mails and sentences of the server. */
export const toLanguage = (text: string): Language => (isLanguage(text) ? text : 'en');
