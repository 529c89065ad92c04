import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import type { i18n } from 'i18next';
import { useMemo } from 'react';
import { I18nextProvider, useTranslation } from 'react-i18next';
import { createQueryClient } from '../api/query-client.ts';
import { colorSchemeManager } from './color-scheme.ts';
import { createConsoleRouter } from './router.tsx';
import type { PageEntry } from './page-entry.ts';
import { contrastVariables } from './palette.ts';
import { styleNonce } from './style-nonce.ts';
import { theme } from './theme.ts';

type ProvidersProps = { readonly texts: i18n; readonly pages: readonly PageEntry[] };

/** Everything that pages stand on. */
export function Providers({ texts, pages }: ProvidersProps) {
  const { queries, router } = useMemo(() => connect(texts, pages), [texts, pages]);
  return (
    <I18nextProvider i18n={texts}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={contrastVariables}
        colorSchemeManager={colorSchemeManager}
        defaultColorScheme="auto"
        getStyleNonce={styleNonce}
      >
        <QueryClientProvider client={queries}>
          <Told />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </I18nextProvider>
  );
}

/** Whoever is signed out while at work is asked to sign in, and comes back to where they were. */
function connect(texts: i18n, pages: readonly PageEntry[]) {
  const router = createConsoleRouter({ texts, pages, queries: () => queries });
  const queries = createQueryClient(() => {
    queries.removeQueries({ queryKey: ['session'] });
    void router.invalidate();
  });
  return { queries, router };
}

function Told() {
  const { t } = useTranslation('ui');
  return <Notifications position="bottom-right" limit={4} aria-label={t('notifications')} />;
}
