import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import type { i18n } from 'i18next';
import { Suspense, useMemo } from 'react';
import { I18nextProvider } from 'react-i18next';
import { lazyPart } from '../api/connection/lazy-part.ts';
import { createQueryClient, pauseWhileAway } from '../api/query-client.ts';
import { colorSchemeManager } from './color-scheme.ts';
import { createConsoleRouter } from './router.tsx';
import type { PageEntry } from './page-entry.ts';
import { contrastVariables } from './palette.ts';
import { styleNonce } from './style-nonce.ts';
import { theme } from './theme.ts';

const Notices = lazyPart(() => import('../api/notifications.tsx').then((file) => ({ default: file.NotificationArea })));

type ProvidersProps = { readonly texts: i18n; readonly pages: readonly PageEntry[] };

/** The providers of theme, texts, queries, notifications and router. */
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
        deduplicateCssVariables={false}
      >
        <QueryClientProvider client={queries}>
          <Suspense>
            <Notices />
          </Suspense>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </I18nextProvider>
  );
}

/**
 * Connects router and query client: when the session ends, the user is sent to the sign-in page and returns
 * afterwards.
 */
function connect(texts: i18n, pages: readonly PageEntry[]) {
  const router = createConsoleRouter({ texts, pages, queries: () => queries });
  let isLeaving = false;
  const queries = createQueryClient(() => {
    if (isLeaving) return;
    isLeaving = true;
    const next = router.state.location.href;
    // The cache is cleared only after the page is gone, because until then the page uses it.
    void router.navigate({ to: '/sign-in', search: next === '/' ? {} : { next } }).then(() => {
      queries.clear();
      isLeaving = false;
    });
  });
  pauseWhileAway(queries);
  return { queries, router };
}
