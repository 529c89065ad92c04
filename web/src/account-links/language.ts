/** The language of mails: that of the page if there are mails in it. */
export const languageOf = (language: string): 'en' | 'it' => (language === 'it' ? 'it' : 'en');
