import i18next, { type i18n } from 'i18next';
import { initReactI18next } from 'react-i18next';

export const LANGUAGES = ['en', 'it'] as const;
export type Language = (typeof LANGUAGES)[number];

const KEPT = 'heliograph-language';
type Texts = { readonly default: Readonly<Record<string, unknown>> };

/** web/src/<feature>/<language>.json, each a file that is fetched when a page of the feature is opened. */
const FILES = import.meta.glob<Texts>('/src/*/{en,it}.json');

const isLanguage = (text: string): text is Language => LANGUAGES.some((language) => language === text);

/** The person's choice, else the first language of the browser that we speak, else English. */
function chooseLanguage(): Language {
  const wishes = [localStorage.getItem(KEPT) ?? '', ...navigator.languages];
  return wishes.map((wish) => wish.slice(0, 2)).find(isLanguage) ?? 'en';
}

async function readTexts(language: string, feature: string): Promise<Readonly<Record<string, unknown>>> {
  const load = FILES[`/src/${feature}/${language}.json`];
  if (load === undefined) throw new Error(`There are no texts of ${feature} in ${language}`);
  return (await load()).default;
}

const backend = {
  type: 'backend' as const,
  init: () => undefined,
  read: (language: string, feature: string) => readTexts(language, feature),
};

/** The texts of the shell and of `ui/` are there from the beginning; those of a feature come with its first page. */
export async function startTexts(): Promise<i18n> {
  const texts = i18next.createInstance();
  await texts
    .use(backend)
    .use(initReactI18next)
    .init({
      lng: chooseLanguage(),
      fallbackLng: false,
      ns: ['app', 'ui'],
      defaultNS: 'ui',
      // React shows texts as texts: escaping them once more would show the escapes.
      interpolation: { escapeValue: false },
      saveMissing: true,
      missingKeyHandler: (_languages, feature, key) => console.error(`There is no text ${feature}:${key}`),
    });
  tellDocument(texts.language);
  texts.on('languageChanged', tellDocument);
  return texts;
}

const tellDocument = (language: string): void => document.documentElement.setAttribute('lang', language);

export async function changeLanguage(texts: i18n, language: Language): Promise<void> {
  localStorage.setItem(KEPT, language);
  await texts.changeLanguage(language);
}
