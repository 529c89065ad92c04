import { UnstyledButton } from '@mantine/core';
import { Search } from 'lucide-react';
import { Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../../api/connection/lazy-part.ts';
import type { PageEntry } from '../../page-entry.ts';
import classes from './search-button.module.css';

const LazyPanel = lazyPart(() => import('./search-panel.tsx').then(({ SearchPanel }) => ({ default: SearchPanel })));

/** The keys on this machine: Command on a Mac, Control elsewhere. */
const KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K';

const isShortcut = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey;

/** Opens the search of the whole console, by click or by Ctrl-K on any page. The search is loaded with the first use. */
export function SearchButton({ pages }: { readonly pages: readonly PageEntry[] }) {
  const { t } = useTranslation('app');
  const [isWanted, setIsWanted] = useState(false);
  const [isOpen, setIsOpen] = useState(false);
  const open = (): void => {
    setIsWanted(true);
    setIsOpen(true);
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (!isShortcut(event)) return;
      event.preventDefault();
      setIsWanted(true);
      setIsOpen((before) => !before);
    };
    globalThis.addEventListener('keydown', listen);
    return () => globalThis.removeEventListener('keydown', listen);
  }, []);
  return (
    <>
      <UnstyledButton
        className={classes.button}
        onClick={open}
        aria-label={t('search')}
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K"
      >
        <Search size={18} aria-hidden="true" />
        <span className={classes.wide}>{t('search')}</span>
        {/* Shown by the style: screen readers have aria-keyshortcuts, and visible text must be part of the name. */}
        <kbd className={classes.keys} data-keys={KEYS} />
      </UnstyledButton>
      {isWanted && (
        <Suspense>
          <LazyPanel opened={isOpen} onClose={() => setIsOpen(false)} pages={pages} />
        </Suspense>
      )}
    </>
  );
}
