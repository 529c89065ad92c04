import {
  Alert,
  Anchor,
  type AnchorProps,
  Breadcrumbs,
  Button,
  type ButtonProps,
  Code,
  Group,
  Paper,
  Skeleton,
  Stack,
  Text,
  type TextProps,
  ThemeIcon,
  Title,
  VisuallyHidden,
} from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { Link, useRouterState } from '@tanstack/react-router';
import { CircleAlert, type LucideIcon, RotateCw } from 'lucide-react';
import {
  cloneElement,
  createContext,
  type HTMLAttributes,
  type MouseEventHandler,
  type ReactElement,
  type ReactNode,
  type Ref,
  Suspense,
  use,
  useCallback,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import { isOutageStatus } from '../api/monitor.ts';
import { useProblemText } from '../api/passkey.ts';
import { ApiError } from '../api/send.ts';

type PageProps = {
  /** The h1 and the window title; may be text from outside. */
  readonly title: string;
  /** A status next to the title. */
  readonly badge?: ReactNode;
  /** One sentence about the purpose of the page. */
  readonly description?: ReactNode;
  /** The buttons at the top right, the primary one last. */
  readonly actions?: ReactNode;
  /** The breadcrumb: the pages above this one. */
  readonly trail?: readonly { readonly label: string; readonly to: string }[];
  /** True for a page that needs the height of the window: the title is read only, and the actions are next to the tabs. */
  readonly compact?: boolean;
  readonly children: ReactNode;
};

/** The tabs above the page. */
export const PageTabs = createContext<ReactNode>(null);

/** The frame of every page: breadcrumb, h1 (focused after navigation), actions and content. */
export function PageFrame({ title, badge, description, actions, trail, compact = false, children }: PageProps) {
  const heading = usePageFocus(title);
  const tabs = use(PageTabs);
  if (compact)
    return (
      <Stack gap="sm">
        <VisuallyHidden component="h1" ref={heading} tabIndex={-1}>
          {title}
        </VisuallyHidden>
        {(tabs || actions) && (
          <Group justify="space-between" align="flex-end" gap="xs">
            {tabs}
            <Group gap="xs">{actions}</Group>
          </Group>
        )}
        {children}
      </Stack>
    );
  return (
    <Stack gap="lg">
      {tabs}
      {trail && <Trail trail={trail} />}
      <Group justify="space-between" align="flex-start" gap="md">
        <Stack gap={4} style={{ minWidth: 0, flex: '1 1 320px' }}>
          <Group gap="sm">
            <Title order={1} ref={heading} tabIndex={-1} dir="auto" style={{ overflowWrap: 'anywhere' }}>
              {title}
            </Title>
            {badge}
          </Group>
          {description && (
            <Text c="dimmed" size="sm" maw="75ch" style={{ textWrap: 'pretty' }}>
              {description}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="sm">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}

function Trail({ trail }: { readonly trail: NonNullable<PageProps['trail']> }) {
  const { t } = useTranslation('ui');
  return (
    <nav aria-label={t('trail')}>
      <Breadcrumbs>
        {trail.map(({ label, to }) => (
          <TextLink key={to} to={to}>
            {label}
          </TextLink>
        ))}
      </Breadcrumbs>
    </nav>
  );
}

let lastPath: string | null = null;

/**
 * Focuses the heading after navigation, so that users of screen readers and keyboards start at the top of the new
 * page; not on the first page. Uses the path of the rendered page, because the path in the URL changes while the
 * previous page is still shown.
 */
function usePageFocus(title: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  const pathname = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname ?? null });
  useEffect(() => {
    if (pathname === null) return;
    if (lastPath !== null && lastPath !== pathname) heading.current?.focus({ preventScroll: true });
    lastPath = pathname;
  }, [pathname]);
  useEffect(() => {
    setPageTitle(title);
  }, [title]);
  return heading;
}

type ErrorStateProps = { readonly error: unknown; readonly onRetry?: () => void };

/** Delay of the next try after a server error. */
const AGAIN_MS = 10_000;

/**
 * Shown instead of data that could not be loaded: the error, the request ID for the server's log, and a retry button.
 * If the server could not do its work, it is tried again by itself.
 */
export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const { t } = useTranslation('ui');
  const problemText = useProblemText(false);
  const requestId = error instanceof ApiError ? error.requestId : undefined;
  const isAway = error instanceof ApiError && isOutageStatus(error.status);
  const repeats = isAway && onRetry !== undefined;
  const retry = useEffectEvent(() => onRetry?.());
  useEffect(() => {
    if (!repeats) return;
    const timer = setInterval(() => retry(), AGAIN_MS);
    return () => clearInterval(timer);
  }, [repeats]);
  return (
    <Alert
      color={isAway ? 'yellow' : 'red'}
      icon={<CircleAlert size={20} />}
      title={t(isAway ? 'problem.away' : 'problem.title')}
      role="alert"
    >
      <Stack gap="sm" align="flex-start">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {problemText(error)} {repeats && t('problem.again')}
        </Text>
        {requestId !== undefined && (
          <Group gap="xs">
            <Text size="xs">{t('problem.requestId')}</Text>
            <Code>{requestId}</Code>
          </Group>
        )}
        {onRetry && (
          <Button size="xs" variant="default" leftSection={<RotateCw size={14} />} onClick={onRetry}>
            {t('tryAgain')}
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** A button that opens a menu or dialog. */
export type OpenerButton = ReactElement<{
  ref?: Ref<HTMLButtonElement>;
  onClick?: () => void;
  'aria-haspopup'?: 'menu' | 'dialog';
  'aria-expanded'?: boolean;
}>;

type OnDemandProps = {
  readonly button: OpenerButton;
  readonly kind: 'menu' | 'dialog';
  /** The lazily loaded menu or dialog, which renders the button itself with `useOpenWhenDrawn`. */
  readonly children: ReactNode;
};

/**
 * A button whose menu or pane is loaded with the first click: floating elements are 35 kB that no page needs at
 * first.
 */
export function OnDemand({ button, kind, children }: OnDemandProps) {
  const [isWanted, setIsWanted] = useState(false);
  const asking = cloneElement(button, {
    onClick: () => setIsWanted(true),
    'aria-haspopup': kind,
    'aria-expanded': false,
  });
  return isWanted ? <Suspense fallback={asking}>{children}</Suspense> : asking;
}

/** For the loaded menu or pane: focuses the button, which has been rendered again, and then opens. */
export function useOpenWhenDrawn(button: OpenerButton) {
  const [opened, onChange] = useState(false);
  const arrive = useCallback((drawn: HTMLButtonElement | null): void => {
    if (drawn === null) return;
    drawn.focus({ preventScroll: true });
    onChange(true);
  }, []);
  return { opened, onChange, target: cloneElement(button, { ref: arrive }) };
}

type EmptyStateProps = {
  readonly icon: LucideIcon;
  /** Name of the missing items: "No campaigns yet". */
  readonly title: string;
  /** Purpose of the missing item, and how to create it. */
  readonly text?: string;
  /** The section of the documentation that explains the first step. */
  readonly help?: HelpTarget;
  /** One or two buttons for the next step. */
  readonly children?: ReactNode;
};

/** Shown instead of an empty list or an unavailable page. */
export function EmptyState({ icon: Icon, title, text, help, children }: EmptyStateProps) {
  return (
    <Stack align="center" gap="sm" py={48} px="md" ta="center">
      <ThemeIcon size={52} radius="xl" variant="light" color="gray">
        <Icon size={26} aria-hidden="true" />
      </ThemeIcon>
      <Title order={2} size="h4">
        {title}
      </Title>
      {text !== undefined && (
        <Text c="dimmed" size="sm" maw="55ch">
          {text}
        </Text>
      )}
      {children !== undefined && <Group mt="xs">{children}</Group>}
      {help !== undefined && <HelpLink help={help} />}
    </Stack>
  );
}

type SectionProps = {
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
};

/** A section of a page, in its own frame with an h2. */
export function Section({ title, description, actions, children }: SectionProps) {
  return (
    <Paper component="section" p="lg">
      <Stack gap="md">
        <Group justify="space-between" align="flex-start">
          <Stack gap={2} style={{ minWidth: 0, flex: '1 1 240px' }}>
            <Title order={2} size="h4">
              {title}
            </Title>
            {description && (
              <Text size="sm" c="dimmed" maw="75ch">
                {description}
              </Text>
            )}
          </Stack>
          {actions && <Group gap="xs">{actions}</Group>}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}

type To = {
  /** A path of the console with its IDs filled in: `/campaigns/12`. */
  readonly to: string;
  /** The query parameters. */
  readonly search?: Readonly<Record<string, string | number>>;
  readonly children?: ReactNode;
};
type Named = Pick<HTMLAttributes<HTMLAnchorElement>, 'aria-label' | 'aria-current' | 'dir' | 'lang'> & {
  readonly onClick?: MouseEventHandler;
};

/** A link to another page, for texts and tables. */
export const TextLink = ({ to, search, ...rest }: To & Named & AnchorProps) => (
  <Anchor size="sm" {...rest} renderRoot={(props) => <Link to={to} search={search ?? {}} {...props} />} />
);

/** A link that looks like a button. */
export const ButtonLink = ({ to, search, ...rest }: To & Named & ButtonProps) => (
  <Button {...rest} renderRoot={(props) => <Link to={to} search={search ?? {}} {...props} />} />
);

/** Parts of the window title: the page, and the number of unread conversations. */
let page = '';
let unread = 0;

const write = (): void => {
  document.title = `${unread > 0 ? `(${unread}) ` : ''}${page} · Heliograph`;
};

/** Sets the name of the page in the window title. */
function setPageTitle(title: string): void {
  page = title;
  write();
}

/** Sets the number of unread conversations, which the title of every page begins with; zero shows none. */
export function setUnreadTitle(count: number): void {
  if (count === unread) return;
  unread = count;
  if (page !== '') write();
}

/** A page of the documentation and a heading of it: `concepts#campaigns`. A test finds those that do not exist. */
type HelpTarget = `${string}#${string}`;

/** A link to a section of the documentation that the program serves at /help, in a separate window. */
export function HelpLink({ help }: { readonly help: HelpTarget }) {
  const { t } = useTranslation('ui');
  return (
    <Anchor size="sm" href={`/help/${help.replace('#', '.html#')}`} target="_blank">
      {t('help')}
    </Anchor>
  );
}

const PHONE = '(max-width: 36em)';
const NARROW = '(max-width: 62em)';

/**
 * Returns true if the window is narrow: lists are then cards, dialogs are full-screen, and panes are shown one at a
 * time.
 */
export const useIsPhone = (): boolean => useMediaQuery(PHONE, undefined, { getInitialValueInEffect: false }) ?? false;

/** Returns true up to the width of a tablet held upright, where tables show their first columns only. */
export const useIsNarrow = (): boolean => useMediaQuery(NARROW, undefined, { getInitialValueInEffect: false }) ?? false;

/** The value, or the last one before it became null, so that a dialog keeps its content while it closes. */
export function useLast<T>(value: T | null): T | null {
  const [last, setLast] = useState(value);
  if (value !== null && value !== last) setLast(value);
  return value ?? last;
}

/** A placeholder for a table that is loading. */
export function TableSkeleton({ rows = 8 }: { readonly rows?: number }) {
  const { t } = useTranslation('ui');
  return (
    <Stack gap="xs" role="status">
      <VisuallyHidden>{t('loading')}</VisuallyHidden>
      {Array.from({ length: rows }, (_, row) => (
        <Skeleton key={row} h={36} />
      ))}
    </Stack>
  );
}

/** A remark that is less important than the text around it. */
export const Muted = (props: TextProps & { readonly children: ReactNode }) => <Text size="sm" c="dimmed" {...props} />;
