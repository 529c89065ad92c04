import i18next, { type i18n } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { isLanguage, type Language } from '../api/data.ts';
import { loadPart } from '../api/load.ts';

const STORAGE_KEY = 'heliograph-language';
type Texts = { readonly default: Readonly<Record<string, unknown>> };

/** web/src/<feature>/<language>.json, each fetched when a page of the feature is first opened. */
const FILES = import.meta.glob<Texts>('/src/*/{en,it,es,de}.json');

/** The language the user chose, else the browser's first supported language, else English. */
function chooseLanguage(): Language {
  const wishes = [localStorage.getItem(STORAGE_KEY) ?? '', ...navigator.languages];
  return wishes.map((wish) => wish.slice(0, 2)).find(isLanguage) ?? 'en';
}

async function readTexts(language: string, feature: string): Promise<Readonly<Record<string, unknown>>> {
  const load = FILES[`/src/${feature}/${language}.json`];
  if (load === undefined) throw new Error(`There are no texts of ${feature} in ${language}`);
  return (await loadPart(load)).default;
}

const backend = {
  type: 'backend' as const,
  init: () => undefined,
  read: (language: string, feature: string) => readTexts(language, feature),
};

/** Starts i18next with the texts of the shell and of `ui/`; the texts of a feature are loaded with its first page. */
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
      // React escapes texts itself; escaping them twice would show the escapes.
      interpolation: { escapeValue: false },
      saveMissing: true,
      missingKeyHandler: (_languages, feature, key) => console.error(`There is no text ${feature}:${key}`),
    });
  setDocumentLanguage(texts.language);
  texts.on('languageChanged', setDocumentLanguage);
  return texts;
}

const setDocumentLanguage = (language: string): void => document.documentElement.setAttribute('lang', language);

export async function changeLanguage(texts: i18n, language: Language): Promise<void> {
  localStorage.setItem(STORAGE_KEY, language);
  await texts.changeLanguage(language);
}
